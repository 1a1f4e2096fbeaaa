// SPDX-License-Identifier: Apache-2.0
// The vectors of docs/spec/numa.md section 10.
#include "systems/numa/scheduling/fingerprint.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/text/json.hpp"
#include "systems/numa/scheduling/placement_codec.hpp"
#include "systems/numa/scheduling/status_file.hpp"

namespace athanor::numa::fingerprint_test {
namespace {

std::string fingerprint(std::vector<Key> pods) {
  return fingerprint_of(std::span<const Key>(pods));
}

TEST(NumaFingerprint, Vectors) {
  EXPECT_EQ(fingerprint({}), "pfp0v001ef46db3751d8e999");
  EXPECT_EQ(fingerprint({{"default", "pod-a"}}), "pfp0v0019131e707ccadb65c");
  EXPECT_EQ(fingerprint({{"default", "pod-a"}, {"default", "pod-b"}}), "pfp0v0017628d51feb3f3a36");
  EXPECT_EQ(fingerprint({{"default", "pod-b"}, {"default", "pod-a"}}), "pfp0v0017628d51feb3f3a36");
  EXPECT_EQ(fingerprint({{"default", "pod-a"}, {"default", "pod-a"}}), "pfp0v00188bbc2d2fe1e3cb1");
  EXPECT_EQ(fingerprint({{"kube-system", "coredns-5d78c9869d-abcde"},
                         {"openshift-numaresources", "numaresourcesoperator-worker-x7k2p"},
                         {"team-a", "inference-0"},
                         {"team-a", "inference-1"}}),
            "pfp0v001208445cbfedec8ca");
  EXPECT_EQ(fingerprint({{"", "pod-a"}}), "pfp0v0011d37b3611999e9fe");
  EXPECT_EQ(fingerprint({{"default", ""}}), "pfp0v001670677d15e84036d");
  EXPECT_EQ(fingerprint({{"a-namespace-name-that-is-longer-than-thirty-two-bytes",
                          "a-pod-name-that-is-longer-than-thirty-two-bytes-0001"}}),
            "pfp0v001fa7da1732692b3c3");
  std::vector<Key> many;
  for (int i = 0; i < 1000; ++i) {
    many.push_back({"load", fmt::format("pod-{:04}", i)});
  }
  EXPECT_EQ(fingerprint(many), "pfp0v001dd8012546a6e3fc7");
}

TEST(NumaFingerprint, HashesOfTheVectors) {
  EXPECT_EQ(xxh64("default", 0), 0xcb14bd8a5c561c96U);
  EXPECT_EQ(xxh64("pod-a", xxh64("default", 0)), 0x069f655010220ab2U);
  EXPECT_EQ(xxh64("pod-b", xxh64("default", 0)), 0x3d283b916c9e5486U);
  EXPECT_EQ(xxh64("inference-0", xxh64("team-a", 0)), 0xc3eb0c11eda0c331U);
}

TEST(NumaFingerprint, Checks) {
  const std::string empty = fingerprint({});
  EXPECT_TRUE(check_fingerprint(empty, "pfp0v001ef46db3751d8e999").ok());
  const auto why = [&](std::string_view expected) {
    const auto verdict = check_fingerprint(empty, expected);
    return verdict.ok() ? std::string() : verdict.error().message;
  };
  EXPECT_EQ(why(""), "malformed fingerprint");
  EXPECT_EQ(why("pfp0v001ef46db3"), "malformed fingerprint");
  EXPECT_EQ(why("PFP0v001ef46db3751d8e999"), "malformed fingerprint");
  EXPECT_EQ(why("pfp0v002ef46db3751d8e999"), "incompatible version");
  EXPECT_EQ(why("pfp0v001ef46db37"),
            "fingerprint mismatch got=\"ef46db3751d8e999\" expected=\"ef46db37\"");
}

TEST(NumaPlacement, Numbers) {
  const std::pair<std::uint64_t, const char*> kRows[] = {
      {0, "!"},    {1, "#"},    {2, "$"},     {63, "e"},     {64, "f!"},
      {127, "fe"}, {128, "g!"}, {1663, "~e"}, {1664, "gf!"}, {5000, "ih+"}};
  for (const auto& [number, text] : kRows) {
    std::string written;
    append_number(number, written);
    EXPECT_EQ(written, text) << number;
    const auto read = read_numbers(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(*read, std::vector<std::uint64_t>{number});
  }
}

TEST(NumaPlacement, Example) {
  const ContainerName a1{"default", "pod-a", "c1"};
  const ContainerName a2{"default", "pod-a", "c2"};
  const ContainerName b{"default", "pod-b", "main"};
  EXPECT_EQ(container_id(a1), 0x3a90e1ffc72f1ae6U);
  EXPECT_EQ(container_id(a2), 0x9e9700eebf4587f2U);
  EXPECT_EQ(container_id(b), 0xcd989d2b6fad40bdU);
  const std::vector<PlacedContainer> placed{{a1, 0}, {a2, 1}, {b, 1}};
  const PackedPlacement packed = pack_placement(placed, 2);
  EXPECT_EQ(packed.metadata, "npv0v001::ve=leb89::cc=3::nn=2::bn=1");
  EXPECT_EQ(packed.vectors, (std::map<int, std::string>{{0, "!"}}));
  const std::vector<ContainerName> names{b, a2, a1};
  const auto back = unpack_placement(packed, names);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, (std::map<ContainerName, int>{{a1, 0}, {a2, 1}, {b, 1}}));
  EXPECT_EQ(*node_of(*back, a1), 0);
  EXPECT_EQ(node_of(*back, {"x", "y", "z"}).error().message, "unknown container");
  EXPECT_EQ(pack_placement({}, 2).metadata, "npv0v001::ve=leb89::cc=0::nn=2::bn=0");
  EXPECT_EQ(pack_placement(std::vector<PlacedContainer>{{a1, 0}}, 2).metadata,
            "npv0v001::ve=leb89::cc=1::nn=2::bn=0");
}

TEST(NumaPlacement, Errors) {
  const std::vector<ContainerName> three{{"n", "p", "a"}, {"n", "p", "b"}, {"n", "p", "c"}};
  const auto why = [&](const char* metadata, std::map<int, std::string> vectors) {
    const auto placement = unpack_placement({metadata, std::move(vectors)}, three);
    return placement.ok() ? std::string("ok") : placement.error().message;
  };
  const char* const good = "npv0v001::ve=leb89::cc=3::nn=2::bn=1";
  EXPECT_EQ(why(good, {{0, "!"}}), "ok");
  EXPECT_EQ(why("npv0v002::ve=leb89::cc=3::nn=2::bn=1", {}), "malformed metadata");
  EXPECT_EQ(why("npv0v001::ve=leb89::zz=3", {}), "unknown metadata field");
  EXPECT_EQ(why("npv0v001::ve=leb99::cc=3::nn=2::bn=1", {}), "unsupported vector encoding");
  EXPECT_EQ(why("npv0v001::ve=leb89::cc=2::nn=2::bn=1", {}), "inconsistent container set");
  EXPECT_EQ(why(good, {{0, "%"}}), "corrupted NUMA vector");
  EXPECT_EQ(why(good, {{0, "#!"}}), "duplicated data in multiple NUMA vectors");
  EXPECT_EQ(why(good, {{2, "!"}}), "wrong NUMA affinity");
}

TEST(NumaStatusFile, KeepsTheNewestSamples) {
  EXPECT_EQ(status_file_name("worker-0.lab.example"), "worker-0_lab_example");
  std::string file;
  for (int i = 0; i < 12; ++i) {
    const auto next = add_sample(file, {.computed = std::to_string(i), .node = "w"});
    ASSERT_TRUE(next.ok());
    file = *next;
  }
  const Value samples = *json::parse(file);
  ASSERT_EQ(samples.size(), 10U);
  EXPECT_EQ(samples[0]["fingerprintComputed"].str(), "2");
  EXPECT_EQ(samples[9]["fingerprintComputed"].str(), "11");
  EXPECT_FALSE(samples[9].contains("fingerprintExpected"));
  EXPECT_FALSE(add_sample("{}", {}).ok());
}

}  // namespace
}  // namespace athanor::numa::fingerprint_test
