// SPDX-License-Identifier: Apache-2.0
// What every list and description shows of one busy fleet on terminals of 80 and 200 columns, as
// text: screens/80.txt and screens/200.txt. SCREENS_WRITE=1 writes these files anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/files/time_zone_files.hpp"
#include "cli/jobs/job_templates.hpp"
#include "cli/lab/lab_records.hpp"
#include "embedded/kueue/verb.hpp"
#include "kube/text/yaml.hpp"
#include "support/source_dir/source_dir.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/verb/verb.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"
#include "systems/numa/verb.hpp"
#include "views/appwrapper_view.hpp"
#include "views/cluster_view.hpp"
#include "views/describe.hpp"
#include "views/event_view.hpp"
#include "views/job_view.hpp"
#include "views/layout.hpp"
#include "views/queue_view.hpp"
#include "views/schedule_view.hpp"
#include "views/subjects.hpp"
#include "views/table.hpp"

namespace athanor::cli::screens_test {
namespace {

const std::string kFolder = std::string(test::source_dir()) + "/tests/unit/cli/output/screens/";
constexpr const char* kGpuNode = "gpu-node-of-the-second-rack-17";

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Object> read_objects() {
  std::string text = text_of(kFolder + "objects.yaml");
  const std::string uuid = das::emulated_uuid(kGpuNode, 0);
  text.replace(text.find("FIRST_GPU"), std::string("FIRST_GPU").size(), uuid);
  std::vector<Object> objects;
  const std::vector<Value> documents = yaml::parse_all(text).value();
  for (const Value& body : documents) {
    objects.emplace_back(body);
  }
  Value node = yaml::parse(
                   "{apiVersion: inference.redhat.com/v1alpha1, kind: NodeAccelerator, "
                   "metadata: {namespace: das-operator}, spec: {acceleratorType: "
                   "nvidia-mig}}")
                   .value();
  node.set_path({"metadata", "name"}, kGpuNode);
  node.set_path({"status", "nodeResources"},
                das::emulated_resources(kGpuNode, {das::find_model(das::kDefaultModel), 2}));
  objects.emplace_back(std::move(node));
  Value job = yaml::parse(
                  "{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: x}, "
                  "spec: {owner: llm-performance-team, cluster: production-1, pipeline: "
                  "fournos-benchmark, hardware: {gpuType: a100, gpuCount: 8}, forge: "
                  "{project: llm-serving, args: [long]}}}")
                  .value();
  Value cron = fournos::schedule_object({.name = "nightly-of-the-largest-model",
                                         .ns = "bench",
                                         .cron = "30 2 * * 1-5",
                                         .zone = "Europe/Berlin",
                                         .image = "athanor:1",
                                         .job = job})
                   .value();
  cron.set_path({"metadata", "creationTimestamp"}, "2026-01-01T00:00:00Z");
  cron.set_path({"metadata", "uid"}, "cron-1");
  cron.set_path({"status", "lastScheduleTime"}, "2026-01-30T01:30:00Z");
  objects.emplace_back(std::move(cron));
  Value saved = template_object("benchmark-of-the-largest-model",
                                "each night, on all of the cluster", std::move(job));
  saved.set_path({"metadata", "namespace"}, "bench");
  saved.set_path({"metadata", "creationTimestamp"}, "2026-01-29T10:00:00Z");
  objects.emplace_back(std::move(saved));
  return objects;
}

// A server with these objects, and a terminal of this width.
class Screen final : public VerbContext {
 public:
  Screen(const std::vector<Object>& objects, std::size_t columns)
      : objects_(objects), columns_(columns) {}

  std::map<std::string, std::string, std::less<>> arguments{};
  std::string format = "table";

  // What was printed since the last call.
  std::string take() { return std::exchange(text_, {}); }
  [[nodiscard]] std::vector<Object> of(std::string_view kind) const {
    std::vector<Object> found;
    std::ranges::copy_if(objects_, std::back_inserter(found),
                         [&](const Object& object) { return object.kind() == kind; });
    return found;
  }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::string text_of(const views::Listing& listing) const {
    views::Table table(listing.titles);
    for (const views::ListRow& row : listing.rows) {
      table.add(row.cells);
    }
    return table.text(columns_);
  }

  [[nodiscard]] std::optional<std::string> flag(std::string_view /*name*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> argument(std::string_view name) const override {
    const auto given = arguments.find(name);
    return given == arguments.end() ? std::nullopt : std::optional(given->second);
  }
  [[nodiscard]] const std::string& ns() const override { return ns_; }
  [[nodiscard]] std::string_view output() const override { return format; }
  [[nodiscard]] Instant now() const override { return *parse_time("2026-01-31T10:00:00Z"); }
  Result<Object> get(const Kind& kind, const Key& key) override {
    for (const Object& object : objects_) {
      if (object.kind() == kind.name && object.key() == key) {
        return object;
      }
    }
    return Error::not_found(key.text());
  }
  Result<std::vector<Object>> list(const Kind& kind, const std::string& ns) override {
    std::vector<Object> found = of(kind.name);
    std::erase_if(found, [&](const Object& object) { return !ns.empty() && object.ns() != ns; });
    return found;
  }
  Result<Object> create(const Kind& /*kind*/, const Value& /*object*/) override {
    return Error::internal("lists only look");
  }
  Result<Object> patch(const Kind& /*kind*/, const Key& /*key*/, const Value& /*merge*/,
                       std::string_view /*subresource*/) override {
    return Error::internal("lists only look");
  }
  Result<void> remove(const Kind& /*kind*/, const Key& /*key*/) override {
    return Error::internal("lists only look");
  }
  Result<Value> post(const Kind& /*kind*/, const Key& /*key*/, std::string_view /*subresource*/,
                     const Value& /*body*/) override {
    return Error::internal("lists only look");
  }
  void wait(Duration /*time*/) override {}
  void print(std::string_view text) override { text_ += text; }
  void table(const std::vector<std::string>& header,
             const std::vector<std::vector<std::string>>& rows) override {
    views::Table table(header);
    for (const std::vector<std::string>& row : rows) {
      table.add(row);
    }
    text_ += table.text(format == "wide" ? 0 : columns_);
  }
  void values(const std::vector<Value>& /*items*/) override {}

 private:
  const std::vector<Object>& objects_;
  std::size_t columns_;
  std::string ns_ = "bench";
  std::string text_{};
};

using Screens = std::vector<std::pair<std::string, std::string>>;  // command, what it prints

void add_lists(Screen& screen, Screens& all) {
  const Instant now = screen.now();
  const auto causes = views::failure_causes(screen.of("TaskRun"));
  const auto entries = views::queue_entries(
      screen.of("Workload"), views::queues_of(screen.of("LocalQueue"), screen.of("ClusterQueue")));
  for (const bool placed : {false, true}) {
    const std::string more = placed ? " -A" : "";
    const auto add = [&](const std::string& verb, const views::Listing& listing) {
      all.emplace_back(verb + more, screen.text_of(listing));
    };
    add("jobs",
        views::job_listing(screen.of("FournosJob"), causes, {.with_namespace = placed}, now));
    add("queue", views::queue_listing(entries, {.with_namespace = placed}));
    views::Listing apps{.titles = views::appwrapper_header(placed)};
    for (const Object& app : screen.of("AppWrapper")) {
      apps.rows.push_back({.object = app,
                           .cells = views::appwrapper_row(
                               app, {.pods = screen.of("Pod"), .with_namespace = placed}, now)});
    }
    add("appwrappers", apps);
    add("templates", template_listing(screen.of("ConfigMap"), placed, now));
    add("schedules", views::schedule_listing(screen.of("CronJob"), placed, now, find_time_zone));
    add("events", views::event_listing(screen.of("Event"), placed, now));
  }
  all.emplace_back("clusters",
                   screen.text_of(views::cluster_listing(screen.of("FournosCluster"), {},
                                                         screen.of("ClusterQueue"), false, now)));
  views::Table labs(lab_header());
  labs.add(lab_row({.name = "athanor-of-the-second-rack",
                    .data = "/home/ann/labs/athanor-of-the-second-rack",
                    .address = "https://127.0.0.1:16443",
                    .lab = "/home/ann/athanor/examples/tutorial/lab.yaml",
                    .started = "2026-01-31T08:00:00Z",
                    .pid = 117'117},
                   now));
  all.emplace_back("labs", labs.text(screen.columns()));
}

void add_verbs(Screen& screen, Screens& all) {
  struct Case {
    std::string command{};
    Verb verb{};
    std::map<std::string, std::string, std::less<>> arguments{};
    std::string format = "table";
  };
  const std::vector<Case> cases{
      {"slices", das::slices_verb(), {{"ACTION", ""}}},
      {"slices -o wide", das::slices_verb(), {{"ACTION", ""}}, "wide"},
      {"slices what-if 3g.20gb:2",
       das::slices_verb(),
       {{"ACTION", "what-if"}, {"SUBJECT", "3g.20gb:2"}}},
      {"queues", kueue::queues_verb(), {}},
      {"queues -o wide", kueue::queues_verb(), {}, "wide"},
      {"queue --explain nightly-of-the-second-rack-d4e5f",
       kueue::queues_verb(),
       {{"WHAT", "explain"}, {"NAME", "nightly-of-the-second-rack-d4e5f"}}},
      {"numa", numa::numa_verb(), {}}};
  for (const Case& one : cases) {
    screen.arguments = one.arguments;
    screen.format = one.format;
    const auto code = one.verb.run(screen);
    EXPECT_TRUE(code.ok()) << one.command << ": " << (code.ok() ? "" : code.error().message);
    all.emplace_back(one.command, screen.take());
  }
}

void add_descriptions(Screen& screen, Screens& all) {
  views::DescribeSource source{.context = screen,
                               .jobs_ns = "bench",
                               .clusters_ns = "hearth",
                               .now = screen.now(),
                               .find_zone = find_time_zone};
  for (const std::string subject :
       {"jobs/nightly-of-the-second-rack-d4e5f", "jobs/measure", "clusters/production-1",
        "queues/fournos-queue", "appwrappers/sample-appwrapper-with-a-long-name",
        "workloads/benchmark-of-the-largest-model-a1b2c", "slices/gpu-node-of-the-second-rack-17",
        "zones/gpu-node-of-the-second-rack-17", "schedules/nightly-of-the-largest-model"}) {
    const auto parsed = views::parse_subjects({subject});
    ASSERT_TRUE(parsed.ok()) << subject;
    const auto told = views::describe(source, parsed->front());
    ASSERT_TRUE(told.ok()) << subject << ": " << told.error().message;
    all.emplace_back("describe " + subject, told->text(source.now));
  }
}

Screens screens(std::size_t columns) {
  const std::vector<Object> objects = read_objects();
  Screen screen(objects, columns);
  Screens all;
  add_lists(screen, all);
  add_verbs(screen, all);
  add_descriptions(screen, all);
  return all;
}

class Screenshots : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Screenshots, ShowTheTextOfTheFile) {
  std::string text;
  for (const auto& [command, printed] : screens(GetParam())) {
    text += "$ athanor " + command + "\n" + printed + "\n";
  }
  const std::string path = kFolder + std::to_string(GetParam()) + ".txt";
  if (std::getenv("SCREENS_WRITE") != nullptr) {  // NOLINT(concurrency-mt-unsafe): never set
    std::ofstream(path) << text;
  }
  EXPECT_EQ(text_of(path), text);
}

// Tables keep to the width; maps, trees and descriptions are lines of their own length.
TEST_P(Screenshots, FitTablesIntoTheWidth) {
  for (const auto& [command, printed] : screens(GetParam())) {
    if (command.starts_with("describe") || command.find("wide") != std::string::npos ||
        command.find("explain") != std::string::npos) {
      continue;
    }
    std::istringstream lines(printed);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(views::display_width(line), GetParam()) << command << "\n" << line;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Columns, Screenshots, ::testing::Values(80, 200));

}  // namespace
}  // namespace athanor::cli::screens_test
