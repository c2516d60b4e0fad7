"""Weft's config of a task: its objective and its data. bench_peers/tasks.py has an entry of the same name for the peers."""
import dataclasses, pathlib


@dataclasses.dataclass(frozen=True)
class Task:
    objective: str
    item: object = lambda file: dict(path=file)          # data item for a file of texts
    data: dict = dataclasses.field(default_factory=dict) # further keys of its `data:`
    is_table: bool = False                               # files with columns, one of them the text
    is_of_images: bool = False                           # no tokenizer; counts images, not tokens
    is_even: bool = False                                # all sequences have the same length: no padding or grouping

    @property
    def unit(self):
        return "images/s" if self.is_of_images else "real tokens/s"

    def files(self, found):
        """All files that belong to those found."""
        return list(found) if self.is_table else [name for file in found for name in self.item(file).values()]


def pair(file):
    """English lines, and German lines in the corresponding file."""
    return dict(source=file, target=str(pathlib.Path(file).with_suffix(".de")))


TASKS = {
    "mlm": Task("mlm", data=dict(overflow="cut", pack="none")),
    "classify": Task("classify", lambda file: dict(path=file, text="text", label="label"), dict(overflow="cut"), is_table=True),
    "causal": Task("causal", data=dict(document_boundary="file", pack="stream"), is_even=True),
    "recurrent": Task("causal", data=dict(document_boundary="file", pack="stream"), is_even=True),
    "translate": Task("seq2seq", pair, dict(overflow="cut")),
    "images": Task("classify", is_of_images=True, is_even=True),
}
