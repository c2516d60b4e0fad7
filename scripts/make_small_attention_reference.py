#!/usr/bin/env python3
"""Writes tests/reference/attention/{clustered,synthesizer,distilling}.safetensors: outputs of layers in the code of their authors.

Usage: scripts/make_small_attention_reference.py clustered|synthesizer|distilling [INFORMER]
clustered needs pytorch-fast-transformers, synthesizer needs mesh-tensorflow with tensorflow-cpu, distilling needs a directory with the
repository zhouhaoyi/Informer2020; all need safetensors. Each variant has the output NAME.y (L, D), for attention that before the output
projection, and NAME.dx, the gradient of the input for the weights cos(0, 1, 2, ...) of the elements of y. Input and parameters are not
stored: `values` is their formula, also in tests/support/formula_values.h.
"""
import pathlib
import sys
import types

import numpy
from safetensors.numpy import save_file

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/attention"
DIM, HEADS, LENGTH, WIDTH = 8, 2, 12, 4
CLUSTERS, BITS, ITERATIONS, TOP = 4, 12, 3, 3
TABLE = 512   # the length that mesh-tensorflow has for tables of positions


def values(number, *shape):
    """Tensor `number` of a test: 0 is the input, 1 to 3 project queries, keys and values."""
    index = numpy.arange(numpy.prod(shape), dtype=numpy.int64)
    return 0.5 * numpy.cos(0.7 * (index * index % 1009) + number).reshape(shape)


def weights(count):
    return numpy.cos(numpy.arange(count, dtype=numpy.float64))


def clustered():
    import fast_transformers.attention.clustered_attention as plain
    import fast_transformers.attention.improved_clustered_attention as improved
    import torch
    from fast_transformers.masking import FullMask, LengthMask

    tensor = lambda number, *shape: torch.from_numpy(values(number, *shape)).float()
    planes = tensor(4, BITS, WIDTH + 1)
    planes[:, -1] *= -1   # the library compares with the last column, which Weft adds

    def evenly_spread(length, size, replace):
        return numpy.arange(size[0]) * length // size[0]

    def attend(module, layer):
        module.normal_ = lambda to: to.copy_(planes)
        x = tensor(0, LENGTH, DIM).requires_grad_()
        q, k, v = ((x @ tensor(number, DIM, DIM).T).view(1, LENGTH, HEADS, WIDTH) for number in (1, 2, 3))
        y = layer.eval()(q, k, v, FullMask(LENGTH), *(LengthMask(torch.tensor([LENGTH])),) * 2).reshape(LENGTH, DIM)
        (y * torch.from_numpy(weights(y.numel())).float().view_as(y)).sum().backward()
        return y.detach().numpy(), x.grad.numpy()

    def broadcast(rows, clusters, counts, factors):
        """The library's own has no gradient, so that queries would learn nothing from the share of the best keys of their cluster."""
        return (rows * factors.unsqueeze(-1)).gather(2, clusters.long().unsqueeze(-1).expand(-1, -1, -1, rows.size(-1)))

    numpy.random.choice = evenly_spread
    improved.clustered_broadcast = broadcast
    sizes = dict(clusters=CLUSTERS, iterations=ITERATIONS + 1, bits=BITS)   # one of its iterations moves no centre
    return {"plain": attend(plain, plain.ClusteredAttention(**sizes)),
            "improved": attend(improved, improved.ImprovedClusteredAttention(**sizes, topk=TOP))}


def synthesizer():
    import tensorflow.compat.v1 as tf
    from tensorflow.python.framework import ops
    ops.register_tensor_conversion_function = tf.register_tensor_conversion_function   # mesh-tensorflow 0.1.21 is older
    import mesh_tensorflow as mtf
    transformer = types.ModuleType("mesh_tensorflow.transformer")   # without what it imports for its data
    transformer.__path__ = [str(pathlib.Path(mtf.__file__).parent / "transformer")]
    sys.modules[transformer.__name__] = transformer
    from mesh_tensorflow.transformer import attention

    class Context:
        mode, train = "train", False
        variable_dtype = mtf.VariableDType(tf.float32, tf.float32, tf.float32)

    def attend(mode, parameters):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(values(0, LENGTH, DIM), tf.float32)
            graph = mtf.Graph()
            context = Context()
            context.mesh = mtf.Mesh(graph, "mesh")
            heads, length, width = mtf.Dimension("heads", HEADS), mtf.Dimension("length", LENGTH), mtf.Dimension("width", WIDTH)
            memory = mtf.Dimension("memory_length", LENGTH)

            def projected(number, rows):
                own = tf.matmul(x, tf.constant(values(number, DIM, DIM), tf.float32), transpose_b=True)
                by_head = tf.transpose(tf.reshape(own, [LENGTH, HEADS, WIDTH]), [1, 0, 2])
                return mtf.import_tf_tensor(context.mesh, by_head, mtf.Shape([heads, rows, width]))

            y = attention.synthetic_attention(projected(1, length), projected(2, memory), projected(3, memory), memory, width, width,
                                              dropout_broadcast_dims=[], synthesize_mode=mode, max_length=TABLE, context=context)
            y = mtf.transpose(y, mtf.Shape([length, heads, width]))
            lowering = mtf.Lowering(graph, {context.mesh: mtf.placement_mesh_impl.PlacementMeshImpl("", "", [""])})
            result = tf.reshape(lowering.export_to_tf_tensor(y), [LENGTH, DIM])
            gradient = tf.gradients(result * tf.constant(weights(LENGTH * DIM).reshape(LENGTH, DIM), tf.float32), x)[0]
            assignments = [variable.assign(parameters[variable.op.name.split("/")[0].split("_")[0]].reshape(variable.shape))
                           for variable in tf.trainable_variables()]
            copies = lowering.copy_masters_to_slices()
            for operation in (tf.global_variables_initializer(), assignments, copies):
                session.run(operation)
            return session.run([result, gradient])

    table = values(4, HEADS, TABLE, TABLE).transpose(1, 0, 2)   # by position, head and key
    return {"random": attend("random_plus_alpha", {"R": table, "alpha": numpy.array([0.3])}),
            "dense": attend("dense_plus_alpha", {"pi": values(5, WIDTH, TABLE), "alpha": numpy.array([-0.2])})}


def distilling():
    """Between two layers of an encoder, in training, for a batch of one text."""
    import torch
    sys.path.insert(0, sys.argv[2])
    from models.encoder import ConvLayer

    tensor = lambda number, *shape: torch.from_numpy(values(number, *shape)).float()
    layer = ConvLayer(DIM).train()
    with torch.no_grad():
        layer.downConv.weight.copy_(tensor(1, DIM, 3, DIM).transpose(1, 2))
        for number, parameter in enumerate((layer.downConv.bias, layer.norm.weight, layer.norm.bias), 2):
            parameter.copy_(tensor(number, DIM))

    def distil(length):
        x = tensor(0, length, DIM).requires_grad_()
        y = layer(x.unsqueeze(0)).squeeze(0)
        (y * torch.from_numpy(weights(y.numel())).float().view_as(y)).sum().backward()
        return y.detach().numpy(), x.grad.numpy()

    return {"even": distil(6), "odd": distil(5)}


if len(sys.argv) < 2 or sys.argv[1] not in ("clustered", "synthesizer", "distilling"):
    sys.exit(__doc__)
variants = globals()[sys.argv[1]]()
save_file({f"{name}.{part}": numpy.ascontiguousarray(value, numpy.float32) for name, parts in variants.items()
           for part, value in zip(("y", "dx"), parts)}, OUTPUT / f"{sys.argv[1]}.safetensors")
