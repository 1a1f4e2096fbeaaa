// SPDX-License-Identifier: Apache-2.0
// Roles of people: who may read and change which of our kinds.
#include "product/people.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "product/list.hpp"

namespace athanor::cli::people_test {
namespace {

bool allows(const Value& role, std::string_view resource, std::string_view verb) {
  for (const Value& rule : role["rules"].items()) {
    bool named = false;
    for (const Value& one : rule["resources"].items()) {
      named = named || one.as_string() == resource;
    }
    for (const Value& one : rule["verbs"].items()) {
      if (named && one.as_string() == verb) {
        return true;
      }
    }
  }
  return false;
}

TEST(People, ReadAllKindsAndChangeTheirOwn) {
  const std::vector<Value> roles = people_roles(all_systems());
  ASSERT_EQ(roles.size(), 3U);
  const Value& view = roles[0];
  const Value& edit = roles[1];
  const Value& admin = roles[2];
  EXPECT_EQ(view["metadata"]["name"].as_string(), "athanor-view");
  EXPECT_TRUE(allows(view, "fournosjobs", "watch") && allows(view, "fournosjobs/status", "get"));
  EXPECT_TRUE(allows(view, "fournosclusters", "list") && allows(view, "clusterqueues", "get"));
  EXPECT_FALSE(allows(view, "fournosjobs", "create"));
  EXPECT_TRUE(allows(edit, "fournosjobs", "create") && allows(edit, "appwrappers", "delete"));
  EXPECT_TRUE(allows(edit, "fournosclusters", "patch")) << "a lock";
  EXPECT_FALSE(allows(edit, "fournosclusters", "create"));
  EXPECT_FALSE(allows(edit, "fournosclusters", "delete"));
  EXPECT_FALSE(allows(edit, "allocationclaims", "delete"));
  EXPECT_TRUE(allows(admin, "fournosclusters", "patch"));
}

TEST(People, HaveRolesOfOneSystem) {
  std::vector<const System*> das;
  std::ranges::copy_if(all_systems(), std::back_inserter(das),
                       [](const System* system) { return system->name == "das"; });
  const std::vector<Value> roles = people_roles(das, "das");
  ASSERT_EQ(roles.size(), 2U) << "its users make none of its kinds";
  EXPECT_EQ(roles[0]["metadata"]["name"].as_string(), "das-view");
  EXPECT_EQ(roles[1]["metadata"]["name"].as_string(), "das-admin");
  EXPECT_TRUE(allows(roles[0], "allocationclaims", "list"));
  EXPECT_FALSE(allows(roles[0], "fournosjobs", "list"));
}

TEST(People, JoinTheRolesOfKubernetes) {
  const std::vector<Value> roles = people_roles(all_systems());
  const auto joins = [&](std::size_t index, const char* role) {
    return roles[index]["metadata"]["labels"].contains(
        std::string("rbac.authorization.k8s.io/aggregate-to-") + role);
  };
  EXPECT_TRUE(joins(0, "view") && joins(0, "edit") && joins(0, "admin"));
  EXPECT_TRUE(!joins(1, "view") && joins(1, "edit") && joins(1, "admin"));
  EXPECT_TRUE(!joins(2, "view") && !joins(2, "edit") && joins(2, "admin"));
}

}  // namespace
}  // namespace athanor::cli::people_test
