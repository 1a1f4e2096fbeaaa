// SPDX-License-Identifier: Apache-2.0
// The exporter's rounds over ports that fail, and messages of podresources on the wire
// (docs/spec/numa.md 9.1, 9.4, 9.8).
#include "systems/numa/exporter/process.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/exporter/podresources_wire.hpp"
#include "systems/numa/model/kinds.hpp"
#include "unit/systems/numa/exporter/recorded.hpp"

namespace athanor::numa::process_test {
namespace {

TEST(NumaPodResourcesWire, RoundTrips) {
  const auto pods = testing::example_pods();
  const auto list = decode_list(encode(pods));
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(json::print(to_value(*list)), json::print(to_value(pods)));
  const auto resources = testing::example_allocatable();
  const auto allocatable = decode_allocatable(encode(resources));
  ASSERT_TRUE(allocatable.ok());
  EXPECT_EQ(json::print(to_value(*allocatable)), json::print(to_value(resources)));
}

TEST(NumaPodResourcesWire, ReadsForeignEncodingsAndSurvivesNonsense) {
  // cpu_ids 3 and 200, one by one; an unknown field 9 before them.
  const auto unpacked = decode_allocatable(std::string("\x48\x07\x10\x03\x10\xc8\x01", 7));
  ASSERT_TRUE(unpacked.ok());
  EXPECT_EQ(unpacked->cpus, (std::vector<std::int64_t>{3, 200}));
  const std::string good = encode(testing::example_pods());
  for (std::size_t size = 0; size < good.size(); ++size) {
    static_cast<void>(decode_list(std::string_view(good).substr(0, size)));
  }
  std::string broken = good;
  for (std::size_t i = 0; i < broken.size(); ++i) {
    broken[i] = static_cast<char>(~broken[i]);
    static_cast<void>(decode_list(broken));
    broken[i] = good[i];
  }
  EXPECT_FALSE(decode_list(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11)).ok());
  EXPECT_FALSE(decode_list(std::string(12, '\xff')).ok());
  EXPECT_FALSE(decode_list("\x0b").ok());
  EXPECT_TRUE(decode_list("")->empty());
}

class FakePorts final : public ExporterPorts {
 public:
  Instant now() override { return time; }
  Result<std::vector<PodResources>> list() override {
    return failing == "list" ? Result<std::vector<PodResources>>(Error::unavailable("no socket"))
                             : pods;
  }
  std::string kubelet() override { return socket; }
  Result<AllocatableResources> allocatable() override {
    ++asked;
    return failing == "allocatable" ? Result<AllocatableResources>(Error::unavailable("no socket"))
                                    : resources;
  }
  Result<Hardware> hardware() override {
    return failing == "hardware" ? Result<Hardware>(Error::not_found("cpulist: not there"))
                                 : testing::recorded_hardware("two-zones");
  }
  Result<Object> get(const Kind& kind, const Key& key) override {
    const auto found = objects.find(std::string(kind.plural) + "/" + key.name);
    return found == objects.end() ? Result<Object>(Error::not_found(key.name))
                                  : Object(found->second);
  }
  Result<void> create_topology(const Value& body) override { return write("create", body); }
  Result<void> update_topology(const Value& body) override { return write("update", body); }
  Result<void> patch_topology(const std::string& name, const Value& patch) override {
    Value& live = objects["noderesourcetopologies/" + name];
    return write("patch", apply_merge_patch(live, patch));
  }
  Result<void> write_pod_conditions(const Key& pod, const Value& conditions) override {
    objects["pods/" + pod.name].set_path({"status", "conditions"}, conditions);
    return {};
  }
  Result<std::set<Key>> ended_pods(const std::string& /*node*/) override { return ended; }
  void write_status(const std::string& /*node*/, const std::vector<Key>& /*pods*/,
                    const std::string& fingerprint) override {
    status = fingerprint;
  }
  void log(std::string_view line) override { logged += std::string(line) + "\n"; }

  Result<void> write(const std::string& operation, const Value& body) {
    if (failing == operation) {
      return Error::conflict("the object has been modified");
    }
    operations += operation + " ";
    objects["noderesourcetopologies/" + body["metadata"]["name"].str()] = body;
    return {};
  }
  [[nodiscard]] std::string available() const {
    return objects.at("noderesourcetopologies/worker-0")["zones"][0]["resources"][0]["available"]
        .str();
  }
  [[nodiscard]] std::string condition(const char* type) {
    return find_condition(objects["pods/own"]["status"]["conditions"], type)["status"].str();
  }

  std::string socket = "1";
  Instant time{std::chrono::seconds(1000)};
  std::vector<PodResources> pods = testing::example_pods();
  AllocatableResources resources = testing::example_allocatable();
  std::map<std::string, Value> objects{
      {"pods/own", json::parse(R"({"metadata": {"name": "own"}})").value()}};
  std::set<Key> ended{};
  std::string failing{};
  std::string operations{};
  std::string status{};
  std::string logged{};
  int asked = 0;
};

class NumaExporterProcess : public ::testing::Test {
 protected:
  ExporterProcess process() {
    config.event_unit = std::chrono::seconds(1);
    ExporterProcess made(config, ports, {"numaresources", "own"});
    EXPECT_TRUE(made.start().ok());
    return made;
  }
  void round(ExporterProcess& exporter) {
    EXPECT_TRUE(exporter.run_due());
    ports.time += std::chrono::seconds(10);
  }
  ExporterConfig config = testing::example_config();
  FakePorts ports{};
};

TEST_F(NumaExporterProcess, WritesOnlyChanges) {
  ExporterProcess exporter = process();
  round(exporter);
  EXPECT_EQ(ports.operations, "create ");
  EXPECT_EQ(ports.available(), "1");
  EXPECT_EQ(ports.status, "pfp0v0019131e707ccadb65c");
  round(exporter);
  round(exporter);
  EXPECT_EQ(ports.operations, "create ");
  ports.pods.erase(ports.pods.begin());
  round(exporter);
  EXPECT_EQ(ports.operations, "create patch ");
  EXPECT_EQ(ports.available(), "3");
  EXPECT_NE(exporter.metrics().text().find("operation=\"unchanged\",trigger=\"periodic\"} 2"),
            std::string::npos);
  EXPECT_EQ(ports.condition("NodeTopologyUpdated"), "True");
  // What somebody wrote by hand is set right when the whole object is looked at.
  ports.objects["noderesourcetopologies/worker-0"].set("zones", Value::list());
  for (int i = 0; i < 10; ++i) {
    round(exporter);
  }
  EXPECT_EQ(ports.operations, "create patch update ");
  EXPECT_EQ(ports.available(), "3");
}

// It has not read its pods from the API server.
TEST_F(NumaExporterProcess, KeepsPodsThatStartingKubeletDoesNotList) {
  ExporterProcess exporter = process();
  round(exporter);
  EXPECT_EQ(ports.available(), "1");
  const auto all = ports.pods;
  ports.socket = "2";
  ports.pods.erase(ports.pods.begin());
  round(exporter);
  EXPECT_EQ(ports.available(), "1");
  EXPECT_EQ(ports.status, "pfp0v0019131e707ccadb65c");
  round(exporter);
  round(exporter);
  EXPECT_EQ(ports.available(), "1");
  round(exporter);
  EXPECT_EQ(ports.available(), "3") << "it has not listed the pod for 30 s";
  ports.pods = all;
  round(exporter);
  ports.pods.erase(ports.pods.begin());
  round(exporter);
  EXPECT_EQ(ports.available(), "3") << "the kubelet is the same";
}

TEST_F(NumaExporterProcess, SkipsTheRoundWhenTheScanFails) {
  ExporterProcess exporter = process();
  round(exporter);
  ports.failing = "list";
  ports.pods.clear();
  round(exporter);
  EXPECT_EQ(ports.operations, "create ");
  EXPECT_FALSE(exporter.healthy());
  EXPECT_EQ(ports.condition("PodresourcesFetched"), "False");
  EXPECT_EQ(ports.condition("NodeTopologyUpdated"), "True");
  EXPECT_NE(exporter.metrics().text().find("function_name=\"list\"} 1"), std::string::npos);
  ports.failing.clear();
  round(exporter);
  EXPECT_TRUE(exporter.healthy());
  EXPECT_EQ(ports.condition("PodresourcesFetched"), "True");
}

TEST_F(NumaExporterProcess, WritesTheWholeObjectWhereAPatchFails) {
  ExporterProcess exporter = process();
  round(exporter);
  ports.failing = "patch";
  ports.pods.erase(ports.pods.begin());
  round(exporter);
  EXPECT_EQ(ports.operations, "create update ");
  EXPECT_TRUE(exporter.healthy());
  EXPECT_NE(exporter.metrics().text().find(
                "patch_failures_total{node=\"worker-0\",trigger=\"send_patch\"} 1"),
            std::string::npos);
  // A conflict of the update as well: the condition says so, the next event tries again.
  config.patch_mode = false;
  ExporterProcess whole = process();
  ports.failing = "update";
  ports.pods = testing::example_pods();
  round(whole);
  EXPECT_FALSE(whole.healthy());
  EXPECT_EQ(ports.condition("NodeTopologyUpdated"), "False");
  ports.failing.clear();
  round(whole);
  EXPECT_EQ(ports.condition("NodeTopologyUpdated"), "True");
}

TEST_F(NumaExporterProcess, PausesAndOwnsAndRefreshes) {
  config.no_publish = true;
  ExporterProcess paused = process();
  round(paused);
  EXPECT_EQ(ports.operations, "");
  EXPECT_EQ(ports.condition("NodeTopologyUpdated"), "True");
  config.no_publish = false;
  config.refresh_node_resources = true;
  ports.objects["nodes/worker-0"] =
      json::parse(R"({"metadata": {"uid": "u1"}, "status": {"capacity": {"cpu": "8"}}})").value();
  ExporterProcess exporter = process();
  round(exporter);
  EXPECT_EQ(
      ports.objects["noderesourcetopologies/worker-0"]["metadata"]["ownerReferences"][0]["uid"]
          .str(),
      "u1");
  const int before = ports.asked;
  round(exporter);
  EXPECT_EQ(ports.asked, before);
  ports.objects["nodes/worker-0"].set_path({"status", "capacity", "cpu"}, "7");
  ports.resources.cpus = {2, 3};
  round(exporter);
  EXPECT_EQ(ports.asked, before + 1);
  EXPECT_EQ(ports.available(), "0");
}

// docs/spec/numa.md 9.1: such a round writes nothing.
TEST_F(NumaExporterProcess, SkipsRoundWhenAmountsCannotBeReread) {
  config.refresh_node_resources = true;
  ports.objects["nodes/worker-0"] =
      json::parse(R"({"metadata": {"uid": "u1"}, "status": {"capacity": {"cpu": "8"}}})").value();
  ExporterProcess exporter = process();
  round(exporter);
  EXPECT_EQ(ports.operations, "create ");
  const auto failures = [&] {
    const std::string text = exporter.metrics().text();
    return text.find("function_name=\"get_allocatable_resources\"} 1") != std::string::npos;
  };
  ports.objects["nodes/worker-0"].set_path({"status", "capacity", "cpu"}, "7");
  ports.resources.cpus = {2, 3};
  ports.pods.erase(ports.pods.begin());
  // The machine's files are no call of the kubelet.
  ports.failing = "hardware";
  round(exporter);
  EXPECT_EQ(ports.operations, "create ");
  EXPECT_EQ(ports.condition("PodresourcesFetched"), "True");
  EXPECT_EQ(ports.condition("NodeTopologyUpdated"), "False");
  EXPECT_FALSE(failures());
  EXPECT_NE(ports.logged.find("hardware: cpulist: not there"), std::string::npos) << ports.logged;
  ports.failing = "allocatable";
  round(exporter);
  EXPECT_EQ(ports.operations, "create ");
  EXPECT_FALSE(exporter.healthy());
  EXPECT_EQ(ports.condition("PodresourcesFetched"), "False");
  EXPECT_TRUE(failures());
  ports.failing.clear();
  round(exporter);
  EXPECT_TRUE(exporter.healthy());
  EXPECT_EQ(ports.condition("PodresourcesFetched"), "True");
  EXPECT_EQ(ports.condition("NodeTopologyUpdated"), "True");
  EXPECT_EQ(ports.available(), "2");
}

TEST_F(NumaExporterProcess, LogsAsMuchAsItsFlagsSay) {  // docs/spec/numa.md 9.2
  const auto logged = [&](std::int64_t verbose, bool debug) {
    config.verbose = verbose;
    config.debug = debug;
    config.add_nrt_owner = false;
    ports.logged.clear();
    ExporterProcess exporter = process();
    round(exporter);
    return ports.logged;
  };
  EXPECT_EQ(logged(2, false), "");
  const std::string rounds =
      "round (periodic): 3 pods listed, 1 under the fingerprint pfp0v0019131e707ccadb65c\n";
  EXPECT_EQ(logged(4, false), rounds);
  EXPECT_EQ(logged(2, true), rounds);
  EXPECT_TRUE(logged(6, false).starts_with(rounds + "content: {"));
}

TEST_F(NumaExporterProcess, EndsWhereTheKubeletGivesNothing) {
  ports.failing = "allocatable";
  ExporterProcess exporter(config, ports, {});
  EXPECT_EQ(exporter.start().error().message, "no socket");
}

}  // namespace
}  // namespace athanor::numa::process_test
