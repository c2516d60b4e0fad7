// The units in front of the attention of DeLighT.
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "delight_rows.h"
#include "nn/attention/delight.h"
#include "nn/linear.h"
#include "support/context.h"

namespace weft::nn {
namespace {

struct DextraSizesCase {
  int64_t dim;
  double width;
  int64_t depth;
  int64_t groups;
  DelightSizes inputs;
  DelightSizes outputs;
  DelightSizes layer_groups;
};

// Printed by DExTraUnit.dextra_config of sacmehta/delight @ cc499c5.
const std::vector<DextraSizesCase> kPublishedSizes{
    {128, 2.0, 4, 8, {64, 128, 320, 320}, {64, 256, 256, 64}, {2, 4, 4, 2}},
    {128, 2.0, 5, 8, {64, 128, 224, 320, 224}, {64, 160, 256, 160, 64}, {2, 4, 8, 4, 2}},
    {128,
     3.0,
     8,
     8,
     {64, 128, 240, 344, 448, 448, 344, 240},
     {64, 176, 280, 384, 384, 280, 176, 64},
     {2, 4, 8, 8, 8, 8, 4, 2}},
    {256, 2.0, 4, 8, {128, 256, 640, 640}, {128, 512, 512, 128}, {2, 4, 4, 2}},
    {256, 2.25, 5, 8, {128, 256, 480, 704, 480}, {128, 352, 576, 352, 128}, {2, 4, 8, 4, 2}},
    {256,
     2.571,
     6,
     8,
     {128, 256, 528, 792, 792, 528},
     {128, 400, 664, 664, 400, 128},
     {2, 4, 8, 8, 4, 2}},
    {256,
     2.5,
     7,
     16,
     {128, 256, 432, 608, 768, 600, 432},
     {128, 304, 480, 640, 472, 304, 128},
     {2, 4, 8, 16, 8, 4, 2}},
    {512, 2.0, 4, 16, {256, 512, 1280, 1280}, {256, 1024, 1024, 256}, {2, 4, 4, 2}},
    {512,
     3.0,
     8,
     16,
     {256, 512, 944, 1376, 1792, 1792, 1368, 944},
     {256, 688, 1120, 1536, 1536, 1112, 688, 256},
     {2, 4, 8, 16, 16, 8, 4, 2}},
    {384,
     2.333,
     6,
     8,
     {192, 384, 736, 1088, 1088, 736},
     {192, 544, 896, 896, 544, 192},
     {2, 4, 8, 8, 4, 2}},
    {640,
     2.0,
     9,
     8,
     {320, 640, 880, 1120, 1360, 1600, 1360, 1120, 880},
     {320, 560, 800, 1040, 1280, 1040, 800, 560, 320},
     {2, 4, 8, 8, 8, 8, 8, 4, 2}},
    {192, 2.0, 4, 8, {96, 192, 480, 480}, {96, 384, 384, 96}, {2, 4, 4, 2}},
    {192,
     2.6,
     7,
     4,
     {96, 192, 328, 464, 600, 464, 328},
     {96, 232, 368, 504, 368, 232, 96},
     {2, 4, 4, 4, 4, 4, 2}},
    {64, 1.0, 3, 2, {32, 64, 96}, {32, 64, 32}, {2, 2, 2}},
    {64, 2.0, 2, 8, {32, 64}, {32, 32}, {2, 2}},
    {96,
     1.5,
     10,
     4,
     {48, 96, 120, 144, 168, 192, 192, 168, 144, 120},
     {48, 72, 96, 120, 144, 144, 120, 96, 72, 48},
     {2, 4, 4, 4, 4, 4, 4, 4, 4, 2}},
    {48, 3.75, 5, 1, {24, 48, 128, 208, 128}, {24, 104, 184, 104, 24}, {1, 1, 1, 1, 1}},
    {80,
     2.143,
     8,
     8,
     {40, 80, 128, 168, 216, 216, 168, 128},
     {40, 88, 128, 176, 176, 128, 88, 40},
     {2, 4, 8, 8, 8, 8, 4, 2}},
    {1024,
     2.0,
     12,
     32,
     {512, 1024, 1336, 1648, 1952, 2272, 2560, 2560, 2272, 1952, 1640, 1336},
     {512, 824, 1136, 1440, 1760, 2048, 2048, 1760, 1440, 1128, 824, 512},
     {2, 4, 8, 16, 32, 32, 32, 32, 16, 8, 4, 2}},
    {160,
     1.7,
     11,
     16,
     {80, 160, 200, 240, 288, 320, 352, 320, 288, 240, 200},
     {80, 120, 160, 208, 240, 272, 240, 208, 160, 120, 80},
     {2, 4, 8, 16, 16, 16, 16, 16, 8, 4, 2}},
};

TEST(DextraUnit, HasThePublishedSizes) {
  for (const auto& published : kPublishedSizes) {
    const auto sizes = dextra_sizes({.dim = published.dim,
                                     .output = published.dim / 2,
                                     .width = published.width,
                                     .depth = published.depth,
                                     .groups = published.groups});
    EXPECT_EQ(sizes.inputs, published.inputs) << published.dim << " " << published.depth;
    EXPECT_EQ(sizes.outputs, published.outputs) << published.dim << " " << published.depth;
    EXPECT_EQ(sizes.groups, published.layer_groups) << published.dim << " " << published.depth;
  }
}

TEST(DextraUnit, GrowsWithTheLayerAsPublished) {
  struct Case {
    DextraScaling scaling;
    DelightSizes depths;
    std::vector<double> widths;
  };
  // As DeLighTTransformerEncoder of the authors' code makes its layers.
  const std::vector<Case> cases{
      {{4, 8, 2.0}, {4, 4, 5, 5, 6, 6, 7, 8}, {2, 2.143, 2.286, 2.429, 2.571, 2.714, 2.857, 3}},
      {{4, 8, 2.0}, {4, 4, 5, 6, 7, 8}, {2, 2.2, 2.4, 2.6, 2.8, 3}},
      {{4, 12, 2.0}, {4, 6, 8, 10, 12}, {2, 2.5, 3, 3.5, 4}},
      {{3, 5, 1.5}, {3, 3, 3, 4, 4, 4, 5}, {1.5, 1.611, 1.722, 1.833, 1.944, 2.056, 2.167}},
      {{4, 4, 2.0}, {4, 4, 4}, {2, 2, 2}},
      {{4, 8, 2.0}, {4}, {2}}};
  for (const auto& [scaling, depths, widths] : cases) {
    const auto layers = std::ssize(depths);
    for (int64_t i = 0; i < layers; ++i) {
      const auto unit = scaled_dextra({}, scaling, {.index = i, .layers = layers});
      EXPECT_EQ(unit.depth, depths[static_cast<std::size_t>(i)]) << i << " of " << layers;
      EXPECT_DOUBLE_EQ(unit.width, widths[static_cast<std::size_t>(i)]) << i << " of " << layers;
    }
  }
}

TEST(GroupLinear, OfOneGroupIsALinearLayer) {
  const LinearOptions options{6, 4};
  Linear linear(options);
  test::fill_parameters(*linear);
  const auto x = at::arange(18, at::kFloat).sin().view({3, 6});
  for (const bool shuffles : {false, true}) {
    GroupLinear grouped(options, 1, shuffles);
    test::fill_parameters(*grouped);
    EXPECT_TRUE(at::equal(grouped->forward({x}, {}), linear->forward(x)));
    // It reads the features of several inputs one after another.
    EXPECT_TRUE(
        at::equal(grouped->forward({x.slice(1, 0, 2), x.slice(1, 2)}, {}), linear->forward(x)));
  }
}

TEST(GroupLinear, GroupsAreApartAndShuffledBehind) {
  const auto identity = at::eye(2);
  for (const bool shuffles : {false, true}) {
    GroupLinear grouped(LinearOptions{4, 4, false}, 2, shuffles);
    test::set_parameters(*grouped,
                         {{"group_0.weight", identity}, {"group_1.weight", 10 * identity}});
    // Group 0 reads 1 and 3, group 1 reads 2 and 4.
    const auto y = grouped->forward(
        {at::tensor({1.0F, 2.0F}).view({1, 2}), at::tensor({3.0F, 4.0F}).view({1, 2})}, {});
    const auto expected = shuffles ? at::tensor({1.0F, 20.0F, 3.0F, 40.0F}).view({1, 4})
                                   : at::tensor({1.0F, 3.0F, 20.0F, 40.0F}).view({1, 4});
    EXPECT_TRUE(at::equal(y, expected)) << y;
  }
}

struct DextraUnitCase {
  DextraOptions options;
  std::vector<double> output;
  std::vector<double> input_gradient;       // of each row, cosine_weighted_rows
  std::vector<double> parameter_gradients;  // of each layer, the cosine_weighted of its parameters
};

// Printed by DExTraUnit of the authors' code with the same parameters (swish, layer norms).
const std::vector<DextraUnitCase> kPublishedUnits{
    {dextra_options(5, 4, true),
     {-0.1941780178,  -0.1159708067, 0.01730252741,  0.03889227462,  -0.07874818993,
      -0.1774965891,  -0.1788011075, -0.02098988666, -0.190471026,   -0.1174437446,
      0.01343599916,  0.03887214464, -0.07697331619, -0.17722647,    -0.1786378089,
      -0.01373303669, -0.1953519727, -0.1515575905,  -0.04152272459, 0.006932799222,
      -0.07795882289, -0.1752187789, -0.1885843842,  -0.05614893336},
     {-0.01103994986, -0.02051471939, 0.001898825148},
     {-0.08677081375, 5.720898508e-05, -0.001327029035, -0.004860795682, 0.02320960794,
      -0.8505915063, 0.7919539044}},
    {dextra_options(4, 4, false, 1.5),
     {-0.1189946487, -0.1942177213, -0.2168683772, -0.1678491492, 0.01493907832, 0.336307121,
      0.5893974552,  0.5842524415,  -0.1167355955, -0.1942851678, -0.2163652504, -0.1649753671,
      0.02196727951, 0.3430918945,  0.5881128643,  0.5766259828,  -0.1154954051, -0.1943396252,
      -0.2161907602, -0.1632034507, 0.02730998582, 0.3494146287,  0.5880861221,  0.5699220488},
     {0.003640776479, -0.006139993801, 0.001132296271},
     {0.07897892839, 0.0009510192709, 0.00240936186, 0.00596016521, 0.1296787022, -0.4858556598}},
    {dextra_options(2, 1, true),
     {0.4625725075,  0.2637280344,   0.1031952308,  0.05096656775,  0.08076831867, 0.117583443,
      0.07383031786, -0.05337642396, 0.5057582397,  0.2621203611,   0.1267345379,  0.1112617318,
      0.1508498729,  0.1493986903,   0.05284060373, -0.08458393427, 0.4856915678,  0.2620467878,
      0.1124880742,  0.08395489662,  0.1291178297,  0.1502589655,   0.06703116343, -0.0774551879},
     {-0.00315415804, -0.02623923662, 0.005725941377},
     {-0.01216308902, -1.023116581, -1.054826492, 0.5830686223}}};

TEST(DextraUnit, EqualsTheAuthorsCode) {
  for (const auto& published : kPublishedUnits) {
    DextraUnit unit(published.options);
    fill_in_double(*unit);
    const auto x = delight_rows(3).requires_grad_();
    const auto y = unit->forward(x, test::context_of({0, 3}));
    expect_published(y.detach(), published.output);
    auto inputs = unit->parameters();
    inputs.push_back(x);
    const auto gradients = torch::autograd::grad({cosine_weighted(y)}, inputs);
    expect_published(cosine_weighted_rows(gradients.back()), published.input_gradient);
    std::map<std::string, double> by_layer;
    std::vector<std::string> layers;  // in order
    std::size_t index = 0;
    for (const auto& parameter : unit->named_parameters()) {
      auto layer = parameter.key().substr(0, parameter.key().find('.'));
      layer = layer.substr(0, layer.find("_norm"));
      if (!by_layer.contains(layer)) {
        layers.push_back(layer);
      }
      by_layer[layer] += cosine_weighted(gradients[index++]).item<double>();
    }
    std::vector<double> sums;
    for (const auto& layer : layers) {
      sums.push_back(by_layer[layer]);
    }
    expect_published(at::tensor(sums, at::kDouble), published.parameter_gradients);
  }
}

}  // namespace
}  // namespace weft::nn
