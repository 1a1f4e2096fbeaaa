// SPDX-License-Identifier: Apache-2.0
// The generated CRDs against the field tables of the specifications (*.txt beside this file).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "api/kueue.hpp"
#include "kube/text/json.hpp"
#include "product/list.hpp"
#include "support/source_dir/source_dir.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::api::tables_test {
namespace {

struct Row {
  std::string path{}, type{}, default_json{}, validation{};
};

std::string trim(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<Row> read_table(const std::string& name) {
  std::ifstream file(std::string(athanor::test::source_dir()) + "/tests/unit/api/" + name);
  EXPECT_TRUE(file.good()) << name;
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    std::istringstream cells(line);
    Row row;
    for (std::string* cell : {&row.path, &row.type, &row.default_json}) {
      std::getline(cells, *cell, '|');
      *cell = trim(*cell);
    }
    std::getline(cells, row.validation);
    row.validation = trim(row.validation);
    rows.push_back(row);
  }
  return rows;
}

struct Found {
  Value schema{};
  bool required = false;
};

// Every node of a schema by its path: a.b, a[], a{}.
void flatten(const Value& schema, const std::string& path, bool required,
             std::map<std::string, Found>& into) {
  if (!path.empty()) {
    into[path] = {.schema = schema, .required = required};
  }
  for (const Member& property : schema["properties"].members()) {
    const auto names = schema["required"].items();
    const bool is_required = std::find(names.begin(), names.end(), property.name) != names.end();
    flatten(property.value,
            path.empty() ? std::string(property.key()) : path + "." + std::string(property.key()),
            is_required, into);
  }
  if (schema.contains("items")) {
    flatten(schema["items"], path + "[]", false, into);
  }
  if (schema.contains("additionalProperties")) {
    flatten(schema["additionalProperties"], path + "{}", false, into);
  }
}

std::map<std::string, Found> flat(const Value& schema) {
  std::map<std::string, Found> found;
  flatten(schema, "", false, found);
  std::erase_if(found, [](const auto& entry) {
    return entry.first == "apiVersion" || entry.first == "kind" || entry.first == "metadata";
  });
  return found;
}

std::string type_of(const Value& schema) {
  return schema["x-kubernetes-int-or-string"].as_bool() ? "quantity" : schema["type"].str();
}

void check_row(const Row& row, const Found& found) {
  SCOPED_TRACE(row.path);
  EXPECT_EQ(type_of(found.schema), row.type);
  if (row.default_json == "-") {
    EXPECT_FALSE(found.schema.contains("default"));
  } else {
    EXPECT_EQ(found.schema["default"], *json::parse(row.default_json));
  }
  bool required = false;
  std::istringstream facts(row.validation);
  for (std::string fact; facts >> fact;) {
    const auto equals = fact.find('=');
    if (equals == std::string::npos) {
      EXPECT_EQ(fact, "required");
      required = true;
      continue;
    }
    const std::string key = fact.substr(0, equals);
    EXPECT_EQ(found.schema[key], *json::parse(fact.substr(equals + 1))) << key;
  }
  if (required) {
    EXPECT_TRUE(found.required);
  }
}

Value schema_of(const CustomKind& custom, std::string_view version) {
  const Value crd = crd_manifest(custom);
  for (const Value& entry : crd["spec"]["versions"].items()) {
    if (entry["name"].as_string() == version) {
      return entry["schema"]["openAPIV3Schema"];
    }
  }
  ADD_FAILURE() << custom.kind->name << " has no version " << version;
  return {};
}

// The table is complete: a field too many fails as well.
void check_whole(const CustomKind& custom, const char* table) {
  auto found = flat(schema_of(custom, "v1"));
  for (const Row& row : read_table(table)) {
    ASSERT_TRUE(found.contains(row.path)) << row.path;
    check_row(row, found.at(row.path));
    if (row.validation.find("required") == std::string::npos) {
      EXPECT_FALSE(found.at(row.path).required) << row.path;
    }
    found.erase(row.path);
  }
  for (const auto& [path, extra] : found) {
    ADD_FAILURE() << "not in the specification: " << path;
  }
}

class FournosTable : public testing::TestWithParam<std::pair<FournosApi, const char*>> {};

TEST_P(FournosTable, MatchesField) {
  check_whole(fournos_job_crd(GetParam().first), GetParam().second);
}
INSTANTIATE_TEST_SUITE_P(Apis, FournosTable,
                         testing::Values(std::pair{FournosApi::Auto, "fournosjob_auto.txt"},
                                         std::pair{FournosApi::Seed, "fournosjob_seed.txt"},
                                         std::pair{FournosApi::Current, "fournosjob_current.txt"}));

TEST(FournosClusterTable, MatchesField) {
  check_whole(*hearth_kinds().front(), "fournoscluster.txt");
}

// docs/spec/hearth.md sections 1 and 2.2.
TEST(FournosClusterCrd, NamesAndColumns) {
  const Value crd = crd_manifest(*hearth_kinds().front());
  EXPECT_EQ(crd["metadata"]["name"], Value("fournosclusters.fournos.dev"));
  EXPECT_EQ(crd["spec"]["scope"], Value("Namespaced"));
  EXPECT_EQ(crd["spec"]["names"]["shortNames"], Value::list({"fc", "fcluster"}));
  EXPECT_EQ(crd["spec"]["names"]["listKind"], Value("FournosClusterList"));
  const Value version = crd["spec"]["versions"][0];
  EXPECT_TRUE(version["subresources"].contains("status"));
  EXPECT_FALSE(version["schema"]["openAPIV3Schema"].contains("required"));
  std::string columns;
  for (const Value& column : version["additionalPrinterColumns"].items()) {
    columns += (columns.empty() ? "" : ", ") + column["name"].str() + " " + column["type"].str() +
               " " + column["jsonPath"].str() + (column["priority"].as_int() > 0 ? " wide" : "");
  }
  EXPECT_EQ(columns,
            "Owner string .spec.owner, GPUs string .status.gpuSummary, Kubeconfig string "
            ".status.kubeconfigStatus, Locked boolean .status.locked, Lock Job string "
            ".status.lockJobName wide, TTL string .spec.ttl wide, Lock Expires string "
            ".status.lockExpiresAt wide, Age date .metadata.creationTimestamp");
}

class KueueTable : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(KueueTable, MatchesField) {
  std::map<std::string, std::map<std::string, Found>> schemas;
  for (const CustomKind* custom : kueue_kinds()) {
    schemas[std::string(custom->kind->name)] = flat(schema_of(*custom, GetParam().first));
  }
  for (const Row& row : read_table(GetParam().second)) {
    const auto dot = row.path.find('.');
    const auto& schema = schemas[row.path.substr(0, dot)];
    const auto found = schema.find(row.path.substr(dot + 1));
    ASSERT_NE(found, schema.end()) << row.path;
    check_row(row, found->second);
  }
}
INSTANTIATE_TEST_SUITE_P(Versions, KueueTable,
                         testing::Values(std::pair{"v1beta2", "kueue.txt"},
                                         std::pair{"v1beta1", "kueue_v1beta1.txt"}));

TEST(KueueV1beta1, LacksRenamedFieldsOfV1beta2) {
  for (const CustomKind* custom : kueue_kinds()) {
    const auto fields = flat(schema_of(*custom, "v1beta1"));
    for (const char* path : {"spec.cohortName", "spec.priorityClassRef", "status.flavorsUsage.x",
                             "status.accumulatedPastExecutionTimeSeconds"}) {
      EXPECT_FALSE(fields.contains(path)) << custom->kind->name << " " << path;
    }
  }
}

// What docs/spec/kueue.md section 2 says of each kind.
TEST(KueueCrds, NamesColumnsAndVersions) {
  struct Want {
    const char *kind, *short_names, *columns;
    bool namespaced, status;
  };
  const Want wanted[] = {
      {"Workload", "kwl,kueueworkload,kueueworkloads", "Queue,Reserved in,Admitted,Finished,Age",
       true, true},
      {"ClusterQueue", "cq", "Cohort,Strategy*,Pending Workloads,Admitted Workloads*", false, true},
      {"LocalQueue", "queue,queues,lq", "ClusterQueue,Pending Workloads,Admitted Workloads*", true,
       true},
      {"ResourceFlavor", "flavor,flavors,rf", "", false, false},
      {"WorkloadPriorityClass", "wpc", "Value", false, false},
      {"Cohort", "co", "", false, true},
      {"AdmissionCheck", "ac", "", false, true},
      {"Topology", "topo", "", false, false},
      {"MultiKueueCluster", "mkc", "Connected,Age", false, true},
      {"MultiKueueConfig", "mkconf", "", false, false},
      {"ProvisioningRequestConfig", "", "", false, false},
  };
  std::size_t index = 0;
  for (const CustomKind* custom : kueue_kinds()) {
    const Want& want = wanted[index++];
    SCOPED_TRACE(want.kind);
    const Value crd = crd_manifest(*custom);
    EXPECT_EQ(crd["spec"]["names"]["kind"], Value(want.kind));
    EXPECT_EQ(crd["spec"]["scope"], Value(want.namespaced ? "Namespaced" : "Cluster"));
    std::string names;
    for (const Value& name : crd["spec"]["names"]["shortNames"].items()) {
      names += (names.empty() ? "" : ",") + name.str();
    }
    EXPECT_EQ(names, want.short_names);
    const Value& old = crd["spec"]["versions"][0];
    EXPECT_EQ(old["name"], Value("v1beta1"));
    EXPECT_TRUE(old["served"].as_bool());
    EXPECT_FALSE(old["storage"].as_bool());
    EXPECT_EQ(old["deprecationWarning"], Value("This version is deprecated. Use v1beta2 instead."));
    const Value& current = crd["spec"]["versions"][1];
    EXPECT_TRUE(current["storage"].as_bool());
    EXPECT_EQ(current["subresources"].contains("status"), want.status);
    std::string columns;
    for (const Value& column : current["additionalPrinterColumns"].items()) {
      columns += (columns.empty() ? "" : ",") + column["name"].str() +
                 (column.contains("priority") ? "*" : "");
    }
    EXPECT_EQ(columns, want.columns);
  }
  EXPECT_EQ(index, std::size(wanted));
}

// Kueue's limit: the API server refuses the seventeenth condition.
TEST(KueueCrds, BoundConditionsOfEachStatus) {
  for (const CustomKind* custom : kueue_kinds()) {
    const Value crd = crd_manifest(*custom);
    for (const Value& version : crd["spec"]["versions"].items()) {
      SCOPED_TRACE(std::string(custom->kind->name) + " " + version["name"].str());
      const Value& status = version["schema"]["openAPIV3Schema"]["properties"]["status"];
      EXPECT_FALSE(status["x-kubernetes-preserve-unknown-fields"].as_bool());
      const Value& conditions = status["properties"]["conditions"];
      if (!conditions.is_null()) {
        EXPECT_EQ(conditions["maxItems"].as_int(), 16);
      }
    }
  }
}

TEST(FournosCrd, NamesAndColumns) {
  const Value crd = crd_manifest(fournos_job_crd(FournosApi::Auto));
  EXPECT_EQ(crd["metadata"]["name"], Value("fournosjobs.fournos.dev"));
  EXPECT_EQ(crd["spec"]["names"],
            *json::parse(R"({"kind": "FournosJob", "listKind": "FournosJobList",
      "plural": "fournosjobs", "singular": "fournosjob", "shortNames": ["fj", "fjob", "fjobs"]})"));
  EXPECT_EQ(crd["spec"]["versions"].size(), 1U);
  const Value& version = crd["spec"]["versions"][0];
  EXPECT_EQ(version["subresources"], *json::parse(R"({"status": {}})"));
  EXPECT_EQ(version["additionalPrinterColumns"], *json::parse(R"([
      {"name": "Owner", "type": "string", "jsonPath": ".spec.owner"},
      {"name": "Display Name", "type": "string", "jsonPath": ".spec.displayName", "priority": 1},
      {"name": "Exclusive", "type": "boolean", "jsonPath": ".spec.exclusive", "priority": 1},
      {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
      {"name": "Cluster", "type": "string", "jsonPath": ".status.cluster"},
      {"name": "Message", "type": "string", "jsonPath": ".status.message"},
      {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}])"));
}

// R14.8: every listed field has a transition rule at the root that only binds once a phase is set.
TEST(FournosCrd, AcceptedJobsKeepTheirShape) {
  const Value schema = schema_of(fournos_job_crd(FournosApi::Auto), "v1");
  std::string fields;
  for (const Value& rule : schema["x-kubernetes-validations"].items()) {
    EXPECT_EQ(rule["message"], Value("field is immutable once the job is accepted"));
    EXPECT_NE(rule["rule"].str().find("!has(oldSelf.status.phase)"), std::string::npos);
    fields += rule["fieldPath"].str() + " ";
  }
  EXPECT_EQ(
      fields,
      ".spec.cluster .spec.exclusive .spec.clusterless .spec.lockOnly .spec.priority .spec.forge "
      ".spec.executionEngine .spec.pipeline ");
  EXPECT_FALSE(
      schema_of(fournos_job_crd(FournosApi::Seed), "v1").contains("x-kubernetes-validations"));
}

// Structural: every node has a type, is int-or-string, or preserves unknown fields.
void check_structural(const Value& schema, const std::string& path) {
  EXPECT_TRUE(schema.contains("type") || schema["x-kubernetes-int-or-string"].as_bool() ||
              schema["x-kubernetes-preserve-unknown-fields"].as_bool())
      << path;
  for (const Member& property : schema["properties"].members()) {
    check_structural(property.value, path + "." + std::string(property.key()));
  }
  for (const char* part : {"items", "additionalProperties"}) {
    if (schema.contains(part)) {
      check_structural(schema[part], path + "[]");
    }
  }
}

TEST(CustomKinds, AreStructuralAndHaveOneStorageVersion) {
  std::set<std::string> names;
  for (const CustomKind* custom : kinds_of(all_systems())) {
    const Value crd = crd_manifest(*custom);
    EXPECT_TRUE(names.insert(crd["metadata"]["name"].str()).second);
    int storage = 0;
    for (const Value& version : crd["spec"]["versions"].items()) {
      check_structural(version["schema"]["openAPIV3Schema"], crd["metadata"]["name"].str());
      storage += version["storage"].as_bool() ? 1 : 0;
      if (version["storage"].as_bool()) {
        EXPECT_EQ(version["name"], Value(custom->kind->version));
      }
    }
    EXPECT_EQ(storage, 1);
  }
  EXPECT_TRUE(names.contains("fournosjobs.fournos.dev"));
  EXPECT_TRUE(names.contains("workloads.kueue.x-k8s.io"));
}

// A struct reads what the schema names: every member of a described type is a property of its
// schema.
TEST(Kueue, ReadsAWorkload) {
  const auto workload = decode<kueue::Workload>(*json::parse(R"({
    "spec": {"queueName": "q", "priority": 5, "podSets": [{"name": "launcher", "count": 2, "template": {"spec": {}}}]},
    "status": {"admission": {"clusterQueue": "cq", "podSetAssignments": [
      {"name": "launcher", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "2"}, "count": 2}]}}})"));
  EXPECT_EQ(workload.spec.queue_name, "q");
  EXPECT_EQ(workload.spec.priority, 5);
  EXPECT_TRUE(workload.spec.active);
  EXPECT_EQ(workload.spec.pod_sets.at(0).count, 2);
  EXPECT_TRUE(workload.spec.pod_sets.at(0).template_value.contains("spec"));
  ASSERT_TRUE(workload.status.admission);
  EXPECT_EQ(workload.status.admission->pod_set_assignments.at(0).flavors.at("cpu"), "f");
}

}  // namespace
}  // namespace athanor::api::tables_test
