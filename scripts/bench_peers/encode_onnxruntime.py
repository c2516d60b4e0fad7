"""ONNX Runtime as a library of encode.py: exported by torch, fused by its optimizer for Transformers. int8 is dynamic quantization with a
scale for each output channel."""
import json, pathlib

import onnxruntime


def exported(options, batches, texts):
    """The graph, for any number of texts of any length. The optimizer only recognizes the attention of this exporter and of `eager`."""
    import torch

    from encode_transformers import model_of

    file = pathlib.Path(options.converted) / "exported.onnx"
    example = tuple(torch.from_numpy(part) for part in batches(texts[:4])[0])
    names = ["input_ids", "attention_mask"]
    torch.onnx.export(model_of(options, "eager"), example, str(file), input_names=names, output_names=["output"], dynamo=False, opset_version=17,
                      dynamic_axes={name: {0: "texts", 1: "tokens"} for name in names} | {"output": {0: "texts"}})
    return file


def convert(options, batches, texts):
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer

    config = json.loads((pathlib.Path(options.model) / "config.json").read_text())
    fused = optimizer.optimize_model(str(exported(options, batches, texts)), model_type="bert", num_heads=config["num_attention_heads"],
                                     hidden_size=config["hidden_size"], opt_level=1)
    file = pathlib.Path(options.converted) / "fused.onnx"
    fused.save_model_to_file(str(file))
    if fused.get_fused_operator_statistics()["Attention"] != config["num_hidden_layers"]:
        raise SystemExit("error: the optimizer of ONNX Runtime has not fused the attention of every layer: "
                         + json.dumps(fused.get_fused_operator_statistics()))
    if options.precision == "int8":
        quantize_dynamic(file, file.with_name("int8.onnx"), per_channel=True, weight_type=QuantType.QInt8,
                         extra_options=dict(DefaultTensorType=onnx.TensorProto.FLOAT))


def load(options):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = options.threads, 1
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    file = pathlib.Path(options.converted) / ("int8.onnx" if options.precision == "int8" else "fused.onnx")
    session = onnxruntime.InferenceSession(str(file), settings, providers=["CPUExecutionProvider"])
    return lambda batches: [session.run(None, dict(input_ids=ids, attention_mask=mask))[0] for ids, mask in batches]
