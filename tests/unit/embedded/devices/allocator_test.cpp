// SPDX-License-Identifier: Apache-2.0
// Which devices claims get: selectors, constraints, alternatives, counters (docs/spec/das.md 15.1).
#include "embedded/devices/allocator.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/text/yaml.hpp"

namespace athanor::devices::allocator_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

Object slice(const std::string& name, const std::string& more, const std::string& pool = "n1",
             int generation = 1, int count = 1, const std::string& place = "nodeName: n1") {
  return Object(from_yaml("{metadata: {name: " + name + "}, spec: {driver: x.com, " + place +
                          ", pool: {name: " + pool + ", generation: " + std::to_string(generation) +
                          ", resourceSliceCount: " + std::to_string(count) + "}, " + more + "}}"));
}

// A device with a memory and a parent.
std::string device(const std::string& name, const std::string& memory, const std::string& parent,
                   const std::string& more = "") {
  return "{name: " + name + ", attributes: {parent: {string: " + parent +
         "}, y.com/rank: {int: 3}, version: {version: 1.2.3}}, capacity: {memory: {value: " +
         memory + "}}" + more + "}";
}

class AllocatorTest : public testing::Test {
 protected:
  AllocatorTest() {
    classes.emplace("any", Object(from_yaml("{metadata: {name: any}, spec: {}}")));
    classes.emplace(
        "big",
        Object(from_yaml("{metadata: {name: big}, spec: {selectors: [{cel: {expression: "
                         "\"device.capacity['x.com'].memory.compareTo(quantity('10Gi')) >= "
                         "0\"}}], config: [{opaque: {driver: x.com, parameters: {a: 1}}}]}}")));
  }
  // "a b" of the devices, or the error. Each claim is YAML of spec.devices.
  std::string give(const std::vector<std::string>& claims, bool keep = false,
                   const std::string& node_name = "n1") {
    std::vector<ClaimRequests> requests;
    for (const std::string& claim : claims) {
      auto read = read_requests(from_yaml("{devices: " + claim + "}"), classes);
      if (!read.ok()) {
        return read.error().message;
      }
      requests.push_back(*std::move(read));
    }
    pools = read_pools(slices);
    std::vector<const Pool*> all;
    for (const Pool& pool : pools) {
      all.push_back(&pool);
    }
    const Object node(from_yaml("{metadata: {name: " + node_name + ", labels: {zone: a}}}"));
    Expressions expressions;  // of these pools alone
    const auto found = allocate(requests, all, ledger, node, expressions);
    if (!found.ok()) {
      return found.error().message;
    }
    std::string text;
    for (std::size_t i = 0; i < found->size(); ++i) {
      for (const Chosen& one : (*found)[i]) {
        text += (text.empty() ? "" : " ") + one.device->id.name;
        if (keep) {
          ledger.take(*one.device);
        }
      }
      last = allocation_of(requests[i], (*found)[i], node);
    }
    return text;
  }

  std::vector<Object> slices{};
  Classes classes{};
  Ledger ledger{};
  Pools pools{};
  Value last{};
};

std::string request(const std::string& more = "", const std::string& name = "r",
                    const std::string& device_class = "any") {
  return "{name: " + name + ", exactly: {deviceClassName: " + device_class + more + "}}";
}
std::string claim(const std::string& requests, const std::string& constraints = "") {
  return "{requests: [" + requests + "]" +
         (constraints.empty() ? "" : ", constraints: [" + constraints + "]") + "}";
}
std::string selector(const std::string& expression) {
  return ", selectors: [{cel: {expression: \"" + expression + "\"}}]";
}

TEST_F(AllocatorTest, TakesTheFirstThatFits) {
  slices = {slice("s1", "devices: [" + device("a", "5Gi", "p") + ", " + device("b", "20Gi", "p") +
                            ", " + device("c", "20Gi", "q") + "]")};
  EXPECT_EQ(give({claim(request())}), "a");
  EXPECT_EQ(give({claim(request("", "r", "big"))}), "b");
  EXPECT_EQ(give({claim(request(", count: 2"))}), "a b");
  EXPECT_EQ(give({claim(request()), claim(request())}), "a b");
  EXPECT_EQ(give({claim(request(", count: 4"))}), "cannot allocate all claims");
  EXPECT_EQ(give({claim(request(", allocationMode: All"))}), "a b c");
  EXPECT_EQ(give({claim(request(", allocationMode: All", "r", "big"))}), "b c");
  EXPECT_EQ(give({claim(request("", "r", "none"))}), "request r: device class none does not exist");
  EXPECT_EQ(give({claim(request())}, false, "n2"), "cannot allocate all claims");
}

TEST_F(AllocatorTest, ReturnsToAnEarlierChoice) {
  slices = {
      slice("s1", "devices: [" + device("a", "20Gi", "p") + ", " + device("b", "5Gi", "p") + "]")};
  // The first request could have either; the second needs `a`.
  EXPECT_EQ(give({claim(request("", "r") + ", " + request("", "s", "big"))}), "b a");
}

TEST_F(AllocatorTest, GivesHeldDevicesToAdminsOnly) {
  slices = {slice("s1", "devices: [" + device("a", "5Gi", "p") + "]")};
  EXPECT_EQ(give({claim(request())}, true), "a");
  EXPECT_EQ(give({claim(request())}), "cannot allocate all claims");
  EXPECT_EQ(give({claim(request(", allocationMode: All"))}), "cannot allocate all claims");
  EXPECT_EQ(give({claim(request(", adminAccess: true"))}), "a");
  EXPECT_TRUE(last["devices"]["results"][0]["adminAccess"].as_bool());
}

TEST_F(AllocatorTest, Expressions) {
  slices = {
      slice("s1", "devices: [" + device("a", "5Gi", "p") + ", " + device("b", "5Gi", "q") + "]")};
  const auto with = [&](const std::string& expression) {
    return give({claim(request(selector(expression)))});
  };
  EXPECT_EQ(with("device.attributes['x.com'].parent == 'q'"), "b");
  EXPECT_EQ(with("device.attributes['y.com'].rank == 3"), "a");
  EXPECT_EQ(with("device.driver == 'x.com'"), "a");
  EXPECT_EQ(with("device.attributes['x.com'].version.isGreaterThan(semver('1.0.0'))"), "a");
  EXPECT_EQ(with("has(device.attributes['z.com'].other)"), "cannot allocate all claims");
  EXPECT_EQ(with("device.attributes['z.com'].other == 'x'"),
            "request r: selector #0: device x.com/n1/a: runtime error: no such key: other");
}

// An expression that costs too much fails by itself, and again without being evaluated again.
TEST_F(AllocatorTest, BoundsAnExpression) {
  std::string bomb = "'AAAAAAAA'";
  for (int level = 0; level < 3; ++level) {
    std::string formats;
    std::string arguments;
    for (int i = 0; i < 250; ++i) {
      formats += "%s";
      arguments += i == 0 ? "x" : ",x";
    }
    bomb = "[" + bomb + "].map(x, '" + formats + "'.format([" + arguments + "]))[0]";
  }
  slices = {slice("s1", "devices: [" + device("a", "5Gi", "p") + "]")};
  EXPECT_EQ(give({claim(request(selector(bomb + ".size() > 0")))}),
            "request r: selector #0: device x.com/n1/a: runtime error: operation cancelled: actual "
            "cost limit exceeded: its values are too large");
}

TEST(ExpressionsTest, ChargesTheNamespaceOfThePod) {
  const cel::Val device = seen_by_expressions(from_yaml("{name: a}"), "x.com");
  const std::string dear =
      "[1,2,3,4,5,6,7,8].map(a, [1,2,3,4,5,6,7,8].map(b, [1,2,3,4,5,6,7,8].map(c, "
      "[1,2,3,4,5,6,7,8].map(d, [1,2,3,4,5,6,7,8].map(e, 1))))).size() > ";
  Expressions expressions;
  expressions.charge_to("team");
  int held = 0;
  std::string error;
  for (int i = 0; i < 8 && error.empty(); ++i) {
    const auto holds = expressions.holds(dear + std::to_string(i), device);
    held += holds.ok() ? 1 : 0;
    error = holds.ok() ? "" : holds.error().message;
  }
  EXPECT_GT(held, 1);
  EXPECT_EQ(error, "the expressions about devices of namespace \"team\" cost too much together");
  EXPECT_TRUE(expressions.holds(dear + "0", device).ok());  // is known
  expressions.charge_to("others");
  EXPECT_TRUE(expressions.holds("device.driver == 'x.com'", device).value());
}

TEST_F(AllocatorTest, Constraints) {
  slices = {slice("s1", "devices: [" + device("a", "5Gi", "p") + ", " + device("b", "5Gi", "q") +
                            ", " + device("c", "5Gi", "q") + ", {name: d}]")};
  const std::string two = request("", "r") + ", " + request("", "s");
  EXPECT_EQ(give({claim(two, "{matchAttribute: x.com/parent}")}), "b c");
  EXPECT_EQ(give({claim(two, "{distinctAttribute: x.com/parent}")}), "a b");
  EXPECT_EQ(give({claim(two, "{matchAttribute: x.com/parent, requests: [r]}")}), "a b");
  EXPECT_EQ(give({claim(request(", count: 3"), "{matchAttribute: x.com/parent}")}),
            "cannot allocate all claims");
  EXPECT_EQ(give({claim(request(), "{matchAttribute: x.com/none}")}), "cannot allocate all claims");
}

TEST_F(AllocatorTest, AlternativesInTheirOrder) {
  slices = {slice("s1", "devices: [" + device("a", "5Gi", "p") + "]")};
  const std::string choice =
      "{name: r, firstAvailable: [{name: large, deviceClassName: big}, {name: small, "
      "deviceClassName: any}]}";
  EXPECT_EQ(give({claim(choice)}), "a");
  EXPECT_EQ(last["devices"]["results"][0]["request"].str(), "r/small");
  EXPECT_TRUE(last["devices"]["config"].is_null());
  slices = {
      slice("s1", "devices: [" + device("a", "5Gi", "p") + ", " + device("b", "20Gi", "p") + "]")};
  EXPECT_EQ(give({claim(choice)}), "b");
  EXPECT_EQ(last["devices"]["config"][0]["source"].str(), "FromClass");
  EXPECT_EQ(last["devices"]["config"][0]["requests"][0].str(), "r/large");
}

TEST_F(AllocatorTest, CountersAreShared) {
  const auto part = [](const std::string& name, int memory, const std::string& slots) {
    return "{name: " + name + ", consumesCounters: [{counterSet: g, counters: {memory: {value: " +
           std::to_string(memory) + "Gi}" + slots + "}}]}";
  };
  slices = {
      slice("s0",
            "sharedCounters: [{name: g, counters: {memory: {value: 10Gi}, s0: {value: '1'}, "
            "s1: {value: '1'}}}]",
            "n1", 1, 2),
      slice("s1",
            "devices: [" + part("whole", 10, ", s0: {value: '1'}, s1: {value: '1'}") + ", " +
                part("a", 5, ", s0: {value: '1'}") + ", " + part("b", 5, ", s1: {value: '1'}") +
                ", " + part("c", 5, ", s1: {value: '1'}") + "]",
            "n1", 1, 2)};
  EXPECT_EQ(give({claim(request(selector("device.driver == 'x.com'") + ", count: 2"))}), "a b");
  EXPECT_EQ(give({claim(request())}, true), "whole");
  EXPECT_EQ(give({claim(request())}), "cannot allocate all claims");
  ledger = Ledger();
  EXPECT_EQ(give({claim(request(", count: 2"))}, true), "a b");
  EXPECT_EQ(give({claim(request())}), "cannot allocate all claims");
  ledger.give_back(pools[0].devices[2]);
  EXPECT_EQ(give({claim(request())}), "b");
}

TEST_F(AllocatorTest, APoolThatIsNotWholeGivesNothing) {
  const std::string devices = "devices: [" + device("a", "5Gi", "p") + "]";
  slices = {slice("s1", devices, "n1", 1, 2)};
  EXPECT_EQ(give({claim(request())}), "cannot allocate all claims");
  // The newest generation counts alone.
  slices = {slice("s1", devices, "n1", 1, 1),
            slice("s2", "devices: [" + device("b", "5Gi", "p") + "]", "n1", 2, 1)};
  EXPECT_EQ(give({claim(request())}), "b");
  slices = {slice("s1",
                  "devices: [{name: a, consumesCounters: [{counterSet: g, counters: {m: {value: "
                  "'1'}}}]}]")};
  EXPECT_EQ(give({claim(request())}), "cannot allocate all claims");
}

TEST_F(AllocatorTest, TaintsAreToleratedOrRefuse) {
  slices = {slice(
      "s1", "devices: [" +
                device("a", "5Gi", "p", ", taints: [{key: k, value: v, effect: NoSchedule}]") +
                "]")};
  EXPECT_EQ(give({claim(request())}), "cannot allocate all claims");
  EXPECT_EQ(give({claim(request(", tolerations: [{key: k, operator: Exists}]"))}), "a");
}

TEST_F(AllocatorTest, WhereDevicesCanBeReached) {
  slices = {
      slice("s1", "devices: [" + device("a", "5Gi", "p") + "]", "net", 1, 1, "allNodes: true")};
  EXPECT_EQ(give({claim(request())}, false, "n7"), "a");
  EXPECT_TRUE(last["nodeSelector"].is_null());
  slices = {
      slice("s1", "devices: [" + device("a", "5Gi", "p") + "]", "net", 1, 1,
            "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, "
            "values: [a]}]}]}")};
  EXPECT_EQ(give({claim(request())}, false, "n7"), "a");
  EXPECT_EQ(last["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"][0].str(),
            "n7");
  slices = {slice("s1", "devices: [{name: a, nodeName: n8}, {name: b, nodeName: n7}]", "net", 1, 1,
                  "perDeviceNodeSelection: true")};
  EXPECT_EQ(give({claim(request())}, false, "n7"), "b");
}

TEST_F(AllocatorTest, EndsWhereThereAreTooManyCombinations) {
  std::string devices;
  for (int i = 0; i < 40; ++i) {
    devices +=
        (i == 0 ? "" : ", ") + device("d" + std::to_string(i), "5Gi", "p" + std::to_string(i % 20));
  }
  slices = {slice("s1", "devices: [" + devices + "]")};
  EXPECT_EQ(give({claim(request(", count: 21"), "{distinctAttribute: x.com/parent}")}),
            "cannot allocate all claims: too many combinations");
}

}  // namespace
}  // namespace athanor::devices::allocator_test
