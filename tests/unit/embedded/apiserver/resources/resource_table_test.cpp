// SPDX-License-Identifier: Apache-2.0
// A table over another one equals the table of both lists.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "embedded/kinds/resource_info.hpp"

namespace athanor::apiserver::resource_table_test {
namespace {

std::shared_ptr<const ResourceInfo> custom(const std::string& group, const std::string& version,
                                           const std::string& plural) {
  auto info = std::make_shared<ResourceInfo>();
  info->group = group;
  info->version = version;
  info->plural = plural;
  info->kind = "Kind of " + plural;
  info->is_custom = true;
  info->storage = plural + "." + group;
  info->storage_api_version = group + "/v1";
  return info;
}

TEST(ResourceTable, AddsToABaseAsToAList) {
  // New groups, a further version of a built-in group, and a name that the base has.
  const std::vector<std::shared_ptr<const ResourceInfo>> added = {
      custom("ex.com", "v1alpha1", "widgets"), custom("ex.com", "v1", "widgets"),
      custom("ex.com", "v1", "gadgets"),       custom("apps", "v1beta1", "things"),
      custom("apps", "v1", "aardvarks"),       custom("apps", "v1", "deployments")};
  std::vector<std::shared_ptr<const ResourceInfo>> all = built_in_resources();
  all.insert(all.end(), added.begin(), added.end());
  const ResourceTable list(all);
  const ResourceTable table(std::make_shared<ResourceTable>(built_in_resources()), added);

  EXPECT_EQ(table.all(), list.all());
  ASSERT_EQ(table.groups().size(), list.groups().size());
  for (std::size_t i = 0; i < list.groups().size(); ++i) {
    const GroupInfo& group = list.groups()[i];
    EXPECT_EQ(table.groups()[i].name, group.name);
    EXPECT_EQ(table.groups()[i].versions, group.versions) << group.name;
    EXPECT_TRUE(table.has_group(group.name));
    for (const std::string& version : group.versions) {
      EXPECT_TRUE(table.has_version(group.name, version));
      EXPECT_EQ(table.resources(group.name, version), list.resources(group.name, version))
          << group.name << "/" << version;
    }
  }
  for (const auto& info : all) {
    const std::string api_version = info->api_version();
    EXPECT_EQ(table.find(info->group, info->version, info->plural),
              list.find(info->group, info->version, info->plural));
    EXPECT_EQ(table.by_kind(api_version, info->kind), list.by_kind(api_version, info->kind));
    EXPECT_EQ(table.by_storage(info->storage), list.by_storage(info->storage));
  }
  EXPECT_EQ(table.find("ex.com", "v2", "widgets"), nullptr);
}

TEST(ResourceRegistry, TablesHaveSerialsOfTheirOwn) {
  ResourceRegistry registry;
  const ResourceTablePtr before = registry.table();
  registry.set_custom("widgets.ex.com", {custom("ex.com", "v1", "widgets")});
  const ResourceTablePtr with = registry.table();
  registry.set_custom("widgets.ex.com", {});
  const ResourceTablePtr after = registry.table();
  EXPECT_LT(before->serial(), with->serial());
  EXPECT_LT(with->serial(), after->serial());
  EXPECT_NE(with->find("ex.com", "v1", "widgets"), nullptr);
  EXPECT_EQ(after->find("ex.com", "v1", "widgets"), nullptr);
  EXPECT_EQ(after->all(), before->all());
}

}  // namespace
}  // namespace athanor::apiserver::resource_table_test
