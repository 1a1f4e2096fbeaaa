// SPDX-License-Identifier: Apache-2.0
// Defaulting and every rejection (docs/spec/appwrapper.md 3, 13, B-5, B-7, B-11, B-12).
#include "systems/appwrapper/admission/admission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/kueue.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/appwrapper/admission/webhooks.hpp"
#include "systems/appwrapper/model/fault_tolerance.hpp"

namespace athanor::appwrapper::admission_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kPodTemplate =
    "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}";
constexpr const char* kDeployment =
    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 2, template: "
    "{spec: {containers: [{name: c, image: i}]}}}}";
constexpr const char* kJobSet =
    "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: j}, spec: "
    "{replicatedJobs: "
    "[{template: {spec: {template: {spec: {containers: []}}}}}, {template: {spec: {template: "
    "{spec: "
    "{containers: []}}}}}]}}";
constexpr const char* kService = "{apiVersion: v1, kind: Service, metadata: {name: s}}";

Value parsed(const std::string& text) {
  const auto value = yaml::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.value_or(Value());
}

Value app(const std::string& components, const std::string& metadata = "name: aw") {
  return parsed("{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {" +
                metadata + ", namespace: team}, spec: {components: [" + components + "]}}");
}
std::string component(const std::string& object, const std::string& more = "") {
  return "{template: " + object + (more.empty() ? "" : ", " + more) + "}";
}
// What goes after the rendered value of an error about an object or list.
std::string detail(const std::string& error) {
  const std::size_t end = error.find(": Invalid value: ");
  const std::size_t last =
      error.rfind("}: ") == std::string::npos ? error.rfind("]: ") : error.rfind("}: ");
  return end == std::string::npos || last == std::string::npos
             ? error
             : error.substr(0, end) + " " + error.substr(last + 3);
}

Settings settings() {
  return *read_settings(Value());
}
Entitlement everything(std::string_view, std::string_view) {
  return {};
}
Errors create_errors(const Value& object, const Settings& with = settings(),
                     const Entitle& entitle = everything) {
  return validate_create(object, "bob", entitle, with);
}

TEST(Sanitized, IsALabelValue) {
  EXPECT_EQ(sanitized("system:serviceaccount:team-a:robot"), "system_serviceaccount_team-a_robot");
  EXPECT_EQ(sanitized("alice@example.com"), "alice_example.com");
  EXPECT_EQ(sanitized("CN=Jo,O=x"), "CN_Jo_O_x");
  EXPECT_EQ(sanitized("_x_"), "x");
  EXPECT_EQ(sanitized(""), "");
  EXPECT_EQ(sanitized("::"), "");
  EXPECT_EQ(sanitized(std::string(70, 'a')).size(), 63U);
}

TEST(Defaults, LabelsAndQueue) {
  const Value user = parsed("{username: 'a@b', uid: ''}");
  Settings with = settings();
  with.default_queue_name = "team-queue";
  const auto queue = [&](const char* metadata) {
    return with_defaults(app(component(kPodTemplate), metadata), user,
                         with)["metadata"]["labels"]["kueue.x-k8s.io/queue-name"];
  };
  EXPECT_EQ(queue("name: a"), Value("team-queue"));
  EXPECT_EQ(queue("name: a, labels: {kueue.x-k8s.io/queue-name: ''}"), Value(""));
  EXPECT_EQ(queue("name: a, labels: {kueue.x-k8s.io/queue-name: q}"), Value("q"));
  EXPECT_EQ(queue("name: a, annotations: {kueue.x-k8s.io/queue-name: seed}"), Value("seed"));
  const Value labels = with_defaults(app(component(kPodTemplate),
                                         "name: a, labels: {workload.codeflare.dev/user: forged, "
                                         "workload.codeflare.dev/userid: forged}"),
                                     user, settings())["metadata"]["labels"];
  EXPECT_EQ(labels,
            parsed("{workload.codeflare.dev/user: a_b, workload.codeflare.dev/userid: ''}"));
}

TEST(Create, AcceptsExamplesOfSpecification) {
  EXPECT_THAT(create_errors(app(component(kPodTemplate))), IsEmpty());
  EXPECT_THAT(create_errors(app(component(kService) + ", " + component(kDeployment))), IsEmpty());
  EXPECT_THAT(create_errors(app(component(
                  kDeployment, "podSets: [{path: template.spec.template, replicas: 2}]"))),
              IsEmpty());
}

TEST(Create, NeedsPodSetsWithinTheLimit) {
  for (const char* components : {"", kService}) {
    const Errors errors = create_errors(app(*components == '\0' ? "" : component(components)));
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(detail(errors[0]), "spec.components components contains no podspecs");
  }
  std::string nine;
  for (int i = 0; i < 9; ++i) {
    nine += (i == 0 ? "" : ", ") + component("{apiVersion: v1, kind: Pod, metadata: {name: p" +
                                             std::to_string(i) + "}, spec: {containers: []}}");
  }
  const Errors errors = create_errors(app(nine));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0], HasSubstr("components contains 9 podspecs; at most 8 are allowed"));
  Settings more = settings();
  more.max_pod_sets = 9;
  EXPECT_THAT(create_errors(app(nine), more), IsEmpty());
}

TEST(Create, RefusesNestedOnesAndOtherNamespaces) {
  EXPECT_THAT(
      create_errors(
          app(component(kPodTemplate) +
              ", {template: {apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, "
              "metadata: {name: nested}}}")),
      ElementsAre("spec.components[1].template: Forbidden: Nested AppWrappers are forbidden"));
  EXPECT_THAT(create_errors(app(component("{apiVersion: v1, kind: Pod, metadata: {name: p, "
                                          "namespace: other}, spec: {containers: []}}"))),
              ElementsAre("spec.components[0].template.metadata.namespace: Forbidden: AppWrappers "
                          "cannot create objects in other namespaces"));
}

TEST(Create, AsksWhetherTheUserMayCreate) {
  const Entitle denied = [](std::string_view, std::string_view kind) {
    return Entitlement{.resource = kind == "Deployment" ? "deployments" : "*",
                       .allowed = kind == "Pod"};
  };
  EXPECT_THAT(create_errors(app(component(kPodTemplate) + ", " + component(kDeployment)),
                            settings(), denied),
              ElementsAre("spec.components[1].template: Forbidden: User bob is not authorized to "
                          "create deployments in team"));
  const Entitle broken = [](std::string_view, std::string_view) {
    return Entitlement{.allowed = false, .error = "no answer"};
  };
  EXPECT_THAT(create_errors(app(component(kPodTemplate)), settings(), broken),
              ElementsAre("spec.components[0].template: Internal error: no answer"));
  const Entitle cluster = [](std::string_view, std::string_view) {
    return Entitlement{.resource = "nodes", .namespaced = false};
  };
  EXPECT_THAT(create_errors(app(component(kPodTemplate)), settings(), cluster),
              ElementsAre("spec.components[0].template: Forbidden: AppWrappers cannot contain "
                          "cluster-scoped resources"));
}

struct PathCase {
  const char* object;
  const char* path;
  const char* error;  // of the path
  bool missing;       // V8 as well
};
class DeclaredPath : public testing::TestWithParam<PathCase> {};
TEST_P(DeclaredPath, IsChecked) {
  const auto& [object, path, error, missing] = GetParam();
  const Errors errors =
      create_errors(app(component(object, "podSets: [{path: '" + std::string(path) + "'}]")));
  EXPECT_THAT(errors,
              testing::Contains("spec.components[0].podSets[0].path: Invalid value: \"" +
                                std::string(path) +
                                "\": path does not refer to a v1.PodSpecTemplate: " + error));
  if (missing) {
    EXPECT_THAT(errors, testing::Contains(
                            HasSubstr("PodSet with path 'template.spec.template' is missing")));
  }
}
INSTANTIATE_TEST_SUITE_P(
    Rows, DeclaredPath,
    testing::Values(
        PathCase{kDeployment, "template.spec.missing",
                 "at path position 'template.spec.' missing field 'missing'", true},
        PathCase{kDeployment, "", "first element of the path must be 'template'", true},
        PathCase{kDeployment, "template.metadata",
                 "content at template.metadata does not contain a spec", true},
        PathCase{kJobSet, "template.spec.replicatedJobs",
                 "at path position 'template.spec.replicatedJobs' non-map value", false},
        PathCase{kJobSet, "template.spec.replicatedJobs.template.spec.template",
                 "at path position 'template.spec.replicatedJobs.' non-map value", false},
        PathCase{kJobSet, "template.spec.replicatedJobs[10].template.spec.template",
                 "at path position 'template.spec.replicatedJobs' out of bounds index '10'", false},
        PathCase{kJobSet, "template.spec.replicatedJobs[1",
                 "at path position 'template.spec.replicatedJobs' invalid array index '[1'",
                 false}));

TEST(Create, SaysThatAPathIsMissing) {
  const Errors errors = create_errors(app(component(kDeployment, "podSets: [{path: ''}]")));
  EXPECT_THAT(errors, testing::Contains("spec.components[0].podSets[0].path: Required value: "
                                        "podspec must specify path"));
}

TEST(Create, ComparesDeclaredReplicas) {
  const Errors errors = create_errors(
      app(component(kDeployment, "podSets: [{path: template.spec.template, replicas: 3}]")));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(detail(errors[0]),
            "spec.components[0].podSets replica count 3 differs from inferred count 2 for PodSet "
            "at path position 'template.spec.template'");
}

TEST(Create, ReportsFailedInference) {
  const Errors errors = create_errors(
      app(component("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {foo: 1}}")));
  ASSERT_EQ(errors.size(), 2U);  // V9, too: the component adds none
  EXPECT_THAT(errors[0],
              HasSubstr("error inferring PodSets: template does not refer to a v1.PodSpecTemplate: "
                        "content at template.spec not parseable as a v1.PodSpec: strict decoding "
                        "error: unknown field \"foo\""));
  EXPECT_TRUE(errors[0].starts_with("spec.components[0].template: Invalid value: "));
  EXPECT_THAT(errors[1], HasSubstr("components contains no podspecs"));
}

TEST(Create, RejectsObjectsThatCouldNeverRun) {
  EXPECT_THAT(create_errors(app(component(kPodTemplate) + ", " + component(kPodTemplate))),
              ElementsAre("spec.components[1].template.metadata.name: Duplicate value: \"p\""));
  EXPECT_THAT(create_errors(app(component(
                  "{apiVersion: v1, kind: Pod, metadata: {labels: {}}, spec: {containers: []}}"))),
              ElementsAre("spec.components[0].template.metadata.name: Required value: name or "
                          "generateName is required"));
  const std::string queued = ", labels: {kueue.x-k8s.io/queue-name: q}";
  EXPECT_THAT(create_errors(app(component(kPodTemplate), "name: a.b" + queued)),
              ElementsAre("metadata.name: Invalid value: \"a.b\": must be a lowercase RFC 1123 "
                          "label of at most 60 characters to be queued"));
  EXPECT_THAT(create_errors(app(component(kPodTemplate), "name: a.b")), IsEmpty());
  EXPECT_THAT(create_errors(app(component(kPodTemplate), "name: " + std::string(61, 'a') + queued)),
              testing::SizeIs(1));
  EXPECT_THAT(create_errors(app(component(kPodTemplate), "name: " + std::string(61, 'a'))),
              IsEmpty());
  EXPECT_THAT(create_errors(app(component(kPodTemplate), "name: " + std::string(64, 'a'))),
              testing::SizeIs(1));
}

TEST(Create, StrictKindsNeedPodSets) {
  Settings strict = settings();
  strict.strict_kinds = true;
  const std::string foo = component("{apiVersion: example.com/v1, kind: Foo, metadata: {name: f}}");
  EXPECT_THAT(
      create_errors(app(component(kPodTemplate) + ", " + foo), strict),
      ElementsAre("spec.components[1].template: Forbidden: kind Foo in example.com/v1 needs "
                  "podSets"));
  EXPECT_THAT(create_errors(app(component(kPodTemplate) + ", " + component(kService)), strict),
              IsEmpty());
  EXPECT_THAT(create_errors(app(component(kPodTemplate) + ", " + foo)), IsEmpty());
}

TEST(Create, WarnsOfAnnotationsThatSayNothing) {
  const std::string prefix = "workload.codeflare.dev.appwrapper/";
  const Value object =
      app(component(kPodTemplate), "name: a, annotations: {" + prefix + "retryLimit: x, " + prefix +
                                       "warmupGracePeriodDuration: 1d, " + prefix +
                                       "terminalExitCodes: '3, ten'}");
  EXPECT_THAT(annotation_warnings(Object(object), FaultTolerance{}),
              ElementsAre(HasSubstr("warmupGracePeriodDuration"), HasSubstr("retryLimit"),
                          HasSubstr("\"ten\" is not an integer")));
}

TEST(Create, WarnsOfIgnoredOrClampedAnnotations) {
  const auto warnings = [](const std::string& name, const std::string& value) {
    const Value object =
        app(component(kPodTemplate), "name: a, annotations: {workload.codeflare.dev.appwrapper/" +
                                         name + ": '" + value + "'}");
    return annotation_warnings(Object(object), FaultTolerance{});
  };
  EXPECT_THAT(warnings("gang", "True"),
              ElementsAre("metadata.annotations[workload.codeflare.dev.appwrapper/gang]: \"True\" "
                          "is neither \"true\" nor \"false\"; no PodGroup is made"));
  EXPECT_THAT(warnings("gang", "true"), IsEmpty());
  EXPECT_THAT(warnings("retry", "anything"), IsEmpty());
  EXPECT_THAT(warnings("retryLimits", "3"),
              ElementsAre("metadata.annotations[workload.codeflare.dev.appwrapper/retryLimits]: is "
                          "no annotation of AppWrappers, and ignored"));
  EXPECT_THAT(warnings("warmupGracePeriodDuration", "48h"),
              ElementsAre(HasSubstr("48h0m0s is longer than gracePeriodCeiling; 24h0m0s is used")));
  EXPECT_THAT(warnings("warmupGracePeriodDuration", "24h"), IsEmpty());
  EXPECT_THAT(warnings("retryPausePeriodDuration", "-1s"),
              ElementsAre(HasSubstr("-1s is negative; 0s is used")));
  EXPECT_THAT(
      warnings("successTTLDuration", "200h"),
      ElementsAre(HasSubstr("200h0m0s is not between 0s and successTTLCeiling; 168h0m0s is used")));
  EXPECT_THAT(warnings("successTTLDuration", "0s"), testing::SizeIs(1));
  EXPECT_THAT(warnings("successTTLDuration", "1h"), IsEmpty());
}

TEST(Joined, ListsEachErrorOnce) {
  EXPECT_EQ(joined({"a"}), "a");
  EXPECT_EQ(joined({"a", "a"}), "a");
  EXPECT_EQ(joined({"a", "b", "a"}), "[a, b]");
}

TEST(Update, KeepsTheSpecificationOfTheObjects) {
  const Value old =
      app(component(kDeployment, "podSets: [{path: template.spec.template, replicas: 2}]"),
          "name: a, labels: {workload.codeflare.dev/user: u}");
  const auto changed = [&](std::initializer_list<std::string_view> path, Value value) {
    Value object = old;
    object.set_path(path, std::move(value));
    return validate_update(object, old);
  };
  const std::string immutable = ": Forbidden: attempt to change immutable field";
  EXPECT_THAT(validate_update(old, old), IsEmpty());
  EXPECT_THAT(changed({"spec", "components"}, Value::list()),
              ElementsAre("spec.components" + immutable));
  EXPECT_THAT(changed({"metadata", "labels", "workload.codeflare.dev/user"}, "v"),
              ElementsAre("metadata.labels[workload.codeflare.dev/user]" + immutable));
  EXPECT_THAT(changed({"metadata", "labels", "workload.codeflare.dev/userid"}, "v"),
              ElementsAre("metadata.labels[workload.codeflare.dev/userid]" + immutable));
  EXPECT_THAT(changed({"spec", "managedBy"}, ""), ElementsAre("spec.managedBy" + immutable));
  EXPECT_THAT(changed({"spec", "suspend"}, true), IsEmpty());
  const auto in_component = [&](const std::string& text) {
    Value object = old;
    object.member("spec").set("components", parsed("[" + text + "]"));
    return validate_update(object, old);
  };
  EXPECT_THAT(in_component(component(kPodTemplate, "podSets: [{path: other, replicas: 3}]")),
              ElementsAre("spec.components[0].template.raw" + immutable,
                          "spec.components[0].podsets[0].replicas" + immutable,
                          "spec.components[0].podsets[0].path" + immutable));
  EXPECT_THAT(in_component(component(kDeployment)),
              ElementsAre("spec.components[0].podsets" + immutable));
  std::string with_time = kDeployment;
  with_time.replace(with_time.find("name: d"), 7, "name: d, creationTimestamp: null");
  EXPECT_THAT(
      in_component(component(with_time, "podSets: [{path: template.spec.template, replicas: 2}]")),
      IsEmpty());
}

TEST(Update, KeepsInfosOfARunningOne) {
  Value old = app(component(kPodTemplate, "podSetInfos: [{labels: {a: b}}]"));
  const Value applied = app(component(kPodTemplate));
  EXPECT_EQ(with_kept_infos(applied, old), old);
  old.set_path({"spec", "suspend"}, true);
  EXPECT_EQ(with_kept_infos(applied, old), applied);
}

class Kueue : public testing::Test {
 protected:
  Value defaulted(const std::string& metadata, const Queueing& with = {}) {
    Reads reads;
    return with_kueue_defaults(View(world_, reads), app(component(kPodTemplate), metadata), with);
  }
  void queue(const std::string& name) {
    world_.put(parsed("{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: " +
                      name + ", namespace: team}, spec: {clusterQueue: cq}}"));
  }
  test::FakeWorld world_{};
};

TEST_F(Kueue, SuspendsQueuedAppWrappers) {
  EXPECT_FALSE(defaulted("name: a")["spec"].contains("suspend"));
  EXPECT_EQ(defaulted("name: a, labels: {kueue.x-k8s.io/queue-name: q}")["spec"]["suspend"],
            Value(true));
  EXPECT_EQ(defaulted("name: a", {.without_queue = true})["spec"]["suspend"], Value(true));
  queue("default");
  const Value object = defaulted("name: a");
  EXPECT_EQ(object["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], Value("default"));
  EXPECT_EQ(object["spec"]["suspend"], Value(true));
}

TEST_F(Kueue, LeavesAppWrappersAloneWithoutIntegration) {
  queue("default");
  for (const char* metadata : {"name: a", "name: a, labels: {kueue.x-k8s.io/queue-name: q}"}) {
    EXPECT_EQ(defaulted(metadata, {.enabled = false}), app(component(kPodTemplate), metadata));
  }
}

TEST_F(Kueue, HandsOverToMultiKueue) {
  queue("q");
  const char* metadata = "name: a, labels: {kueue.x-k8s.io/queue-name: q}";
  world_.put(
      parsed("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: cq}, "
             "spec: {admissionChecksStrategy: {admissionChecks: [{name: mk}]}}}"));
  EXPECT_FALSE(defaulted(metadata)["spec"].contains("managedBy"));
  world_.put(
      parsed("{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: mk}, "
             "spec: {controllerName: kueue.x-k8s.io/multikueue}}"));
  EXPECT_EQ(defaulted(metadata)["spec"]["managedBy"], Value("kueue.x-k8s.io/multikueue"));
}

TEST_F(Kueue, ChecksLabels) {
  const auto errors = [](const std::string& metadata) {
    return validate_kueue_create(app(component(kPodTemplate), "name: a, " + metadata));
  };
  EXPECT_THAT(
      errors("labels: {kueue.x-k8s.io/queue-name: indexed_job}"),
      ElementsAre(
          "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"indexed_job\": a lowercase "
          "RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
          "must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
          "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"));
  EXPECT_THAT(
      errors("labels: {kueue.x-k8s.io/max-exec-time-seconds: '0'}"),
      ElementsAre("metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: 0: "
                  "should be greater than 0"));
  EXPECT_THAT(
      errors("annotations: {kueue.x-k8s.io/elastic-job: 'true'}"),
      ElementsAre("metadata.annotations[kueue.x-k8s.io/elastic-job]: Forbidden: elastic job "
                  "is not supported for \"workload.codeflare.dev/v1beta2, "
                  "Kind=AppWrapper\""));
}

TEST_F(Kueue, ChecksUpdates) {
  const auto labelled = [](const std::string& labels, bool suspend) {
    Value object = app(component(kPodTemplate), "name: a, labels: {" + labels + "}");
    object.member("spec").set("suspend", suspend);
    return object;
  };
  const std::string queue = "kueue.x-k8s.io/queue-name: ";
  const std::string priority = "kueue.x-k8s.io/priority-class: ";
  EXPECT_THAT(
      validate_kueue_update(labelled(queue + "b", false), labelled(queue + "a", false), false),
      ElementsAre("metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"b\": field "
                  "is immutable"));
  EXPECT_THAT(
      validate_kueue_update(labelled(queue + "b", true), labelled(queue + "a", true), false),
      IsEmpty());
  EXPECT_THAT(
      validate_kueue_update(labelled("", true), labelled(queue + "a", true), true),
      ElementsAre(HasSubstr("queue-name must not be empty in namespace with default queue")));
  EXPECT_THAT(validate_kueue_update(labelled(priority + "p", false), labelled("", false), false),
              ElementsAre(HasSubstr("cannot be added to a non-suspended workload")));
  EXPECT_THAT(validate_kueue_update(labelled("", true), labelled(priority + "p", true), false),
              ElementsAre(HasSubstr("cannot be removed from a workload")));
  EXPECT_THAT(validate_kueue_update(labelled(priority + "q", false),
                                    labelled(priority + "p", false), false),
              IsEmpty());
  const std::string limit = "kueue.x-k8s.io/max-exec-time-seconds: ";
  const auto limited = [&](bool suspend, bool was_suspended) {
    return validate_kueue_update(labelled(limit + "'2'", suspend),
                                 labelled(limit + "'1'", was_suspended), false);
  };
  const std::string immutable =
      "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: \"2\": field is "
      "immutable";
  EXPECT_THAT(limited(false, false), ElementsAre(immutable));
  EXPECT_THAT(limited(true, false), ElementsAre(immutable));
  EXPECT_THAT(limited(false, true), ElementsAre(immutable));
  EXPECT_THAT(limited(true, true), IsEmpty());
}

// K8; an annotation names the Workload since Kueue 0.18, a label before.
TEST_F(Kueue, KeepsThePrebuiltWorkloadOfARunningOne) {
  const auto prebuilt = [](const std::string& metadata, bool suspend) {
    Value object = app(component(kPodTemplate), "name: a" + metadata);
    object.member("spec").set("suspend", suspend);
    return object;
  };
  const auto errors = [&](const std::string& now, const std::string& before, bool suspend = false) {
    return validate_kueue_update(prebuilt(now, suspend), prebuilt(before, suspend), false);
  };
  const std::string label = ", labels: {kueue.x-k8s.io/prebuilt-workload-name: ";
  const std::string annotation = ", annotations: {kueue.x-k8s.io/prebuilt-workload-name: ";
  EXPECT_THAT(errors(label + "b}", label + "a}"),
              ElementsAre("metadata.labels[kueue.x-k8s.io/prebuilt-workload-name]: Invalid value: "
                          "\"b\": field is immutable"));
  const std::string immutable =
      "metadata.annotations[kueue.x-k8s.io/prebuilt-workload-name]: Invalid value: \"b\": field is "
      "immutable";
  EXPECT_THAT(errors(annotation + "b}", annotation + "a}"), ElementsAre(immutable));
  EXPECT_THAT(errors(annotation + "b}", ""), ElementsAre(immutable));
  EXPECT_THAT(errors("", annotation + "a}"), testing::SizeIs(1));
  EXPECT_THAT(errors(label + "a}" + annotation + "b}", label + "a}"), ElementsAre(immutable));
  EXPECT_THAT(errors(label + "a}" + annotation + "a}", label + "a}"), IsEmpty());
  EXPECT_THAT(errors(annotation + "b}", annotation + "a}", true), IsEmpty());
}

}  // namespace
}  // namespace athanor::appwrapper::admission_test
