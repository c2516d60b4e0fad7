"""llama.cpp (package xllamacpp) as a library of generate.py: a server in this process with a slot for each prompt. int8 is Q8_0."""
import concurrent.futures, json, pathlib

import gguf
import numpy
import safetensors.numpy

TYPES = dict(fp32=gguf.GGMLQuantizationType.F32, bf16=gguf.GGMLQuantizationType.BF16, int8=gguf.GGMLQuantizationType.Q8_0)


def interleaved(matrix, heads):
    """Rows of a query or key projection in the order of llama.cpp, whose rotary positions pair neighbours and not the halves of a head."""
    return matrix.reshape(heads, 2, -1, matrix.shape[1]).swapaxes(1, 2).reshape(matrix.shape)


def of_gpt2(writer, config):
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    sizes = dict(width=config["n_embd"], inner=config["n_inner"] or 4 * config["n_embd"], length=config["n_positions"], layers=config["n_layer"])
    return sizes, lambda name, tensor: tensor.T if tensor.ndim == 2 and ".h." in f".{name}" else tensor   # Conv1D stores (in, out)


def of_llama(writer, config):
    heads, key_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer.add_head_count(heads)
    writer.add_head_count_kv(key_heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    sizes = dict(width=config["hidden_size"], inner=config["intermediate_size"], length=config["max_position_embeddings"],
                 layers=config["num_hidden_layers"])

    def arranged(name, tensor):
        of = heads if name.endswith("q_proj.weight") else key_heads if name.endswith("k_proj.weight") else None
        return interleaved(tensor, of) if of else tensor
    return sizes, arranged


FAMILIES = {"gpt2": (gguf.MODEL_ARCH.GPT2, of_gpt2), "llama": (gguf.MODEL_ARCH.LLAMA, of_llama)}


def add_tokenizer(writer, folder, size):
    """The byte-level BPE of tokenizer.json. Prompts are ids, but llama.cpp wants to know their texts."""
    model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    tokens = [f"<{at}>" for at in range(size)]
    for piece, at in model["vocab"].items():
        tokens[at] = piece
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * size)
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]])
    writer.add_eos_token_id(0)
    writer.add_bos_token_id(0)


def convert(options):
    folder = pathlib.Path(options.model)
    config = json.loads((folder / "config.json").read_text())
    kind, described = FAMILIES[config["model_type"]]
    writer = gguf.GGUFWriter(options.converted, gguf.MODEL_ARCH_NAMES[kind])
    sizes, arranged = described(writer, config)
    writer.add_context_length(sizes["length"])
    writer.add_embedding_length(sizes["width"])
    writer.add_feed_forward_length(sizes["inner"])
    writer.add_block_count(sizes["layers"])
    writer.add_vocab_size(config["vocab_size"])
    add_tokenizer(writer, folder, config["vocab_size"])
    names, matrices = gguf.get_tensor_name_map(kind, sizes["layers"]), TYPES[options.precision]
    for name, tensor in safetensors.numpy.load_file(folder / "model.safetensors").items():
        tensor = numpy.ascontiguousarray(arranged(name, tensor), dtype=numpy.float32)
        kept = matrices if tensor.ndim == 2 and "wpe" not in name else gguf.GGMLQuantizationType.F32
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), gguf.quants.quantize(tensor, kept), raw_dtype=kept)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load(options, prompts):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.converted
    params.n_parallel = len(prompts)
    params.n_ctx = len(prompts) * -(-(max(map(len, prompts)) + options.new) // 256) * 256   # of all slots together
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.fit_params = False
    params.verbosity = -1
    server = xllamacpp.Server(params)

    def answer(ids, new):
        told = server.handle_completions(dict(prompt=ids, n_predict=new, temperature=0.0, samplers=["top_k"], top_k=1, ignore_eos=True,
                                              cache_prompt=False))
        if "choices" not in told:
            raise SystemExit(f"error: {told}")
        return told["choices"][0]["text"], told["usage"]["completion_tokens"]

    pool = concurrent.futures.ThreadPoolExecutor(len(prompts))
    return lambda new: list(pool.map(lambda ids: answer(ids, new), prompts))
