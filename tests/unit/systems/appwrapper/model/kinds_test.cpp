// SPDX-License-Identifier: Apache-2.0
// The generated CRD against the field tables of the specification (appwrapper.txt).
#include "systems/appwrapper/model/kinds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "support/source_dir/source_dir.hpp"

namespace athanor::appwrapper::kinds_test {
namespace {

struct Facts {
  std::string type{};
  bool required = false;
};
using Table = std::map<std::string, Facts>;

void flatten(const Value& schema, const std::string& path, bool required, Table& into) {
  if (!path.empty()) {
    into[path] = {.type = schema["type"].str(), .required = required};
  }
  const Value& names = schema["required"];
  for (const Member& property : schema["properties"].members()) {
    const bool needed =
        std::ranges::any_of(names.items(), [&](const Value& one) { return one == property.name; });
    flatten(property.value, (path.empty() ? "" : path + ".") + std::string(property.key()), needed,
            into);
  }
  if (schema.contains("items")) {
    flatten(schema["items"], path + "[]", false, into);
  }
  if (schema.contains("additionalProperties")) {
    flatten(schema["additionalProperties"], path + "{}", false, into);
  }
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Table read_table() {
  std::ifstream file(std::string(test::source_dir()) +
                     "/tests/unit/systems/appwrapper/appwrapper.txt");
  Table table;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    std::istringstream cells(line);
    std::string path;
    std::string type;
    std::string required;
    std::getline(cells, path, '|');
    std::getline(cells, type, '|');
    std::getline(cells, required);
    table[trimmed(path)] = {.type = trimmed(type), .required = trimmed(required) == "required"};
  }
  return table;
}

Value version() {
  return api::crd_manifest(*custom_kinds().front())["spec"]["versions"][0];
}

TEST(AppWrapperTable, MatchesTheSpecification) {
  Table found;
  const Value served = version();
  flatten(served["schema"]["openAPIV3Schema"], "", false, found);
  std::erase_if(found, [](const auto& entry) {
    return entry.first == "apiVersion" || entry.first == "kind" || entry.first == "metadata";
  });
  const Table expected = read_table();
  ASSERT_FALSE(expected.empty());
  for (const auto& [path, facts] : expected) {
    ASSERT_TRUE(found.contains(path)) << path;
    EXPECT_EQ(found[path].type, facts.type) << path;
    EXPECT_EQ(found[path].required, facts.required) << path;
    found.erase(path);
  }
  for (const auto& [path, facts] : found) {
    ADD_FAILURE() << "not in the specification: " << path;
  }
}

TEST(AppWrapperCrd, NamesColumnsAndLists) {
  const Value crd = api::crd_manifest(*custom_kinds().front());
  EXPECT_EQ(crd["metadata"]["name"], Value("appwrappers.workload.codeflare.dev"));
  EXPECT_EQ(crd["spec"]["scope"], Value("Namespaced"));
  EXPECT_EQ(crd["spec"]["names"]["shortNames"], Value::list({"aw"}));
  EXPECT_EQ(crd["spec"]["names"]["listKind"], Value("AppWrapperList"));
  EXPECT_TRUE(version()["subresources"].contains("status"));
  EXPECT_FALSE(version()["subresources"].contains("scale"));
  std::string columns;
  const Value served = version();
  const Value& listed = served["additionalPrinterColumns"];
  for (const Value& column : listed.items()) {
    columns += (columns.empty() ? "" : ", ") + column["name"].str() + " " + column["type"].str();
  }
  EXPECT_EQ(columns,
            "Status string, Quota Reserved string, Resources Deployed string, Unhealthy string, "
            "Age date");
  const Value& properties = served["schema"]["openAPIV3Schema"]["properties"];
  const Value& components = properties["spec"]["properties"]["components"];
  EXPECT_FALSE(components.contains("x-kubernetes-list-type"));
  const Value& one = components["items"]["properties"]["template"];
  EXPECT_EQ(one["x-kubernetes-embedded-resource"], Value(true));
  EXPECT_EQ(one["x-kubernetes-preserve-unknown-fields"], Value(true));
  const Value& status = properties["status"]["properties"];
  EXPECT_EQ(status["conditions"]["x-kubernetes-list-type"], Value("map"));
}

}  // namespace
}  // namespace athanor::appwrapper::kinds_test
