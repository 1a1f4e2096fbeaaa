// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/types.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "kube/schema/data.hpp"
#include "kube/schema/resources.hpp"

namespace athanor::types_test {
namespace {

const SchemaField& field_of(std::string_view type, std::string_view name) {
  const SchemaPtr schema = BuiltinTypes::get().by_name(type);
  EXPECT_NE(schema, nullptr) << type;
  const SchemaField* field = schema->field(name);
  EXPECT_NE(field, nullptr) << name;
  return *field;
}

TEST(BuiltinTypes, FindsTypeByBothNamesAndKind) {
  const BuiltinTypes& types = BuiltinTypes::get();
  const SchemaPtr pod = types.by_name("core.v1.Pod");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->name, "io.k8s.api.core.v1.Pod");
  EXPECT_EQ(types.by_name("io.k8s.api.core.v1.Pod"), pod);
  EXPECT_EQ(types.by_kind("", "v1", "Pod"), pod);
  EXPECT_EQ(types.by_kind("apps", "v1", "Deployment"), types.by_name("apps.v1.Deployment"));
  EXPECT_EQ(types.by_kind("rbac.authorization.k8s.io", "v1", "Role"),
            types.by_name("rbac.v1.Role"));
  EXPECT_EQ(types.by_kind("", "v1", "DeleteOptions"), types.by_name("meta.DeleteOptions"));
  EXPECT_EQ(types.by_kind("apps.example.com", "v1", "Deployment"), nullptr);
  EXPECT_EQ(types.by_kind("apps", "v2", "Deployment"), nullptr);
}

TEST(BuiltinTypes, NamesFollowOpenApi) {
  const BuiltinTypes& types = BuiltinTypes::get();
  EXPECT_EQ(types.by_name("meta.ObjectMeta")->name,
            "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  EXPECT_EQ(types.by_name("Quantity")->name, "io.k8s.apimachinery.pkg.api.resource.Quantity");
  EXPECT_EQ(types.by_name("apiextensions.v1.JSON")->name,
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON");
  EXPECT_EQ(types.by_name("apiregistration.v1.APIService")->name,
            "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService");
}

TEST(BuiltinTypes, ReadsEveryFlag) {
  const SchemaField& containers = field_of("core.v1.PodSpec", "containers");
  EXPECT_TRUE(containers.required);
  EXPECT_TRUE(containers.always_present);
  EXPECT_EQ(containers.proto, ProtoPath{2});
  EXPECT_EQ(containers.schema->list_type, ListType::Map);
  EXPECT_EQ(containers.schema->list_map_keys, std::vector<std::string>{"name"});
  EXPECT_EQ(containers.patch_strategy, "merge");
  EXPECT_EQ(containers.patch_merge_key, "name");

  const SchemaField& volumes = field_of("core.v1.PodSpec", "volumes");
  EXPECT_EQ(volumes.patch_strategy, "merge,retainKeys");
  EXPECT_EQ(volumes.patch_merge_key, "name");
  EXPECT_EQ(field_of("apps.v1.DeploymentSpec", "strategy").patch_strategy, "retainKeys");

  const SchemaField& ports = field_of("core.v1.Container", "ports");
  EXPECT_EQ(ports.schema->list_map_keys, (std::vector<std::string>{"containerPort", "protocol"}));
  EXPECT_EQ(ports.patch_merge_key, "containerPort");

  const SchemaField& finalizers = field_of("meta.ObjectMeta", "finalizers");
  EXPECT_EQ(finalizers.schema->list_type, ListType::Set);
  EXPECT_EQ(finalizers.patch_strategy, "merge");
  EXPECT_EQ(finalizers.patch_merge_key, "");

  EXPECT_EQ(field_of("core.v1.PodSpec", "nodeSelector").schema->map_type, MapType::Atomic);
  EXPECT_EQ(field_of("core.v1.PersistentVolumeSpec", "claimRef").map_type, MapType::Granular);
  EXPECT_EQ(BuiltinTypes::get().by_name("meta.LabelSelector")->map_type, MapType::Atomic);
  EXPECT_EQ(field_of("core.v1.ContainerPort", "protocol").default_value, Value("TCP"));
  EXPECT_EQ(field_of("core.v1.ReplicationControllerSpec", "replicas").default_value, Value(1));
  EXPECT_EQ(field_of("core.v1.ContainerPort", "protocol").enum_values,
            (std::vector<std::string>{"SCTP", "TCP", "UDP"}));
  EXPECT_EQ(field_of("admissionregistration.v1.NamedRuleWithOperations", "apiGroups").proto,
            (ProtoPath{2, 2, 1}));
  EXPECT_TRUE(field_of("core.v1.Pod", "kind").proto.empty());
}

TEST(BuiltinTypes, KnowsWhereZeroIsAValue) {
  EXPECT_TRUE(field_of("apps.v1.DeploymentSpec", "replicas").presence);
  EXPECT_FALSE(field_of("core.v1.PodSpec", "hostNetwork").presence);
}

TEST(BuiltinTypes, SpecialTypesHaveTheirOwnForm) {
  EXPECT_EQ(field_of("meta.ObjectMeta", "creationTimestamp").schema->type, SchemaType::Time);
  EXPECT_EQ(field_of("coordination.v1.LeaseSpec", "renewTime").schema->type, SchemaType::MicroTime);
  EXPECT_EQ(field_of("core.v1.ResourceRequirements", "limits").schema->additional->type,
            SchemaType::Quantity);
  EXPECT_EQ(field_of("core.v1.ServicePort", "targetPort").schema->type, SchemaType::IntOrString);
  EXPECT_EQ(field_of("core.v1.Secret", "data").schema->additional->type, SchemaType::Bytes);
}

TEST(BuiltinTypes, EveryListableKindHasAListType) {
  const BuiltinTypes& types = BuiltinTypes::get();
  for (const BuiltinResource& resource : builtin_resources()) {
    const SchemaPtr kind = types.by_kind(resource.group, resource.version, resource.kind);
    EXPECT_NE(kind, nullptr) << resource.kind;
    const SchemaPtr list = types.by_kind(resource.group, resource.version, resource.kind + "List");
    ASSERT_EQ(list != nullptr, resource.has_verb("list")) << resource.kind;
    if (list != nullptr) {
      EXPECT_EQ(list->field("items")->schema->items, kind);
    }
  }
}

TEST(BuiltinTypes, FrequentFieldsAreDescribed) {
  EXPECT_FALSE(field_of("core.v1.Pod", "kind").description.empty());
  const BuiltinTypes& types = BuiltinTypes::get();
  for (const char* name : {"core.v1.Pod",
                           "core.v1.PodSpec",
                           "core.v1.PodStatus",
                           "core.v1.Container",
                           "core.v1.ConfigMap",
                           "core.v1.Secret",
                           "core.v1.Namespace",
                           "core.v1.NamespaceSpec",
                           "core.v1.Node",
                           "core.v1.NodeSpec",
                           "core.v1.NodeStatus",
                           "core.v1.Service",
                           "core.v1.ServiceSpec",
                           "apps.v1.Deployment",
                           "apps.v1.DeploymentSpec",
                           "apps.v1.DeploymentStatus",
                           "batch.v1.Job",
                           "batch.v1.JobSpec",
                           "batch.v1.JobStatus",
                           "meta.ObjectMeta"}) {
    const SchemaPtr schema = types.by_name(name);
    EXPECT_FALSE(schema->description.empty()) << name;
    for (const SchemaField& field : schema->fields) {
      EXPECT_FALSE(field.description.empty()) << name << "." << field.name;
    }
  }
}

TEST(BuiltinTypes, RefusesMalformedTables) {
  const struct {
    std::string_view types, presence, descriptions;
  } cases[] = {
      {"T a.v1.A\n name x str\n", "", ""},       // no field number
      {"T a.v1.A\n name 1 .Missing\n", "", ""},  // unknown type
      {"T a.v1.A\n name 1 str q\n", "", ""},     // unknown flag
      {" name 1 str\n", "", ""},                 // field before any type
      {"T a.v1.A\nT a.v1.A\n", "", ""},          // twice
      {"T a.v1.A\n name 1 str\n", "a.v1.A nope\n", ""},
      {"T a.v1.A\n name 1 str\n", "", "a.v1.A text\n nope text\n"},
  };
  constexpr std::string_view kMeta = "T meta.ObjectMeta\nT meta.ListMeta\n";
  for (const auto& c : cases) {
    const std::string text = std::string(kMeta).append(c.types);
    const std::string reversed = std::string(c.types).append(kMeta);
    EXPECT_FALSE(BuiltinTypes::parse({.types = c.types.starts_with(' ') ? reversed : text,
                                      .presence = c.presence,
                                      .descriptions = c.descriptions})
                     .ok())
        << c.types;
  }
  EXPECT_TRUE(BuiltinTypes::parse({.types = kMeta}).ok());
}

TEST(BuiltinResources, ReadsTheTable) {
  const BuiltinResource* pods = find_builtin_resource("", "v1", "pods");
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->kind, "Pod");
  EXPECT_EQ(pods->singular, "pod");
  EXPECT_TRUE(pods->namespaced);
  EXPECT_EQ(pods->short_names, std::vector<std::string>{"po"});
  EXPECT_EQ(pods->categories, std::vector<std::string>{"all"});
  EXPECT_EQ(pods->verbs.size(), 8U);
  const BuiltinSubresource* eviction = pods->subresource("eviction");
  ASSERT_NE(eviction, nullptr);
  EXPECT_EQ(eviction->group, "policy");
  EXPECT_EQ(eviction->version, "v1");
  EXPECT_EQ(eviction->kind, "Eviction");
  EXPECT_EQ(pods->subresource("status")->verbs,
            (std::vector<std::string>{"get", "patch", "update"}));
  EXPECT_EQ(pods->subresource("nope"), nullptr);
  EXPECT_EQ(find_builtin_resource("apps", "v1", "deployments")->subresource("scale")->group,
            "autoscaling");
  EXPECT_FALSE(find_builtin_resource("", "v1", "nodes")->namespaced);
  EXPECT_EQ(find_builtin_resource("apps", "v1", "pods"), nullptr);
}

TEST(BuiltinResources, RefusesAMalformedLine) {
  EXPECT_FALSE(parse_builtin_resources("v1|pods|pod|Pod|ns|po|all|*\n").ok());
  EXPECT_FALSE(parse_builtin_resources("v1|pods|pod|Pod|xx|po|all|*|\n").ok());
  EXPECT_FALSE(parse_builtin_resources("v1|pods|pod|Pod|ns|po|all|*|status\n").ok());
}

TEST(EmbeddedData, HoldsTheFencedBlocksAlone) {
  EXPECT_TRUE(data::types_text().starts_with("T admissionregistration.v1.AuditAnnotation\n"));
  EXPECT_EQ(data::types_text().find("```"), std::string_view::npos);
  EXPECT_TRUE(data::types_text().find("T apiregistration.v1.ServiceReference\n") !=
              std::string_view::npos);
  EXPECT_TRUE(data::rbac_text().starts_with("R admin"));
  EXPECT_TRUE(data::table_columns_text().starts_with("v1 componentstatuses"));
}

}  // namespace
}  // namespace athanor::types_test
