"""OpenVINO as a library of encode.py, with the performance hint for throughput. int8 is the quantization of nncf for Transformers, of weights
and activations, calibrated on the first texts."""
import pathlib

import openvino

CALIBRATION_TEXTS = 320


def convert(options, batches, texts):
    import torch

    from encode_transformers import model_of

    example = {name: torch.from_numpy(part) for name, part in zip(("input_ids", "attention_mask"), batches(texts[:4])[0])}
    model = openvino.convert_model(model_of(options), example_input=example)
    if options.precision == "int8":
        import nncf

        calibration = [dict(input_ids=ids, attention_mask=mask) for ids, mask in batches(texts[:CALIBRATION_TEXTS])]
        model = nncf.quantize(model, nncf.Dataset(calibration), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(calibration))
    openvino.save_model(model, pathlib.Path(options.converted) / "model.xml", compress_to_fp16=False)


def load(options):
    settings = {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_NUM_THREADS": options.threads,
                "INFERENCE_PRECISION_HINT": "bf16" if options.precision == "bf16" else "f32"}
    model = openvino.Core().compile_model(pathlib.Path(options.converted) / "model.xml", "CPU", settings)

    def answer(batches):
        found = [None] * len(batches)

        def keep(request, at):
            found[at] = request.get_output_tensor(0).data.copy()
        queue = openvino.AsyncInferQueue(model)
        queue.set_callback(keep)
        for at, (ids, mask) in enumerate(batches):
            queue.start_async(dict(input_ids=ids, attention_mask=mask), at)
        queue.wait_all()
        return found
    return answer
