// SPDX-License-Identifier: Apache-2.0
// Certificates, ingress classes, topology, kubelets: what these admission steps add and refuse, in
// the words of the real server (docs/spec/apiserver.md 15.1).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::admission_plugins_test {
namespace {

constexpr const char* kPods = "/api/v1/namespaces/tst/pods";
constexpr const char* kRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
constexpr const char* kIngresses = "/apis/networking.k8s.io/v1/namespaces/tst/ingresses";

// Requests for O=system:masters, CN=x and for O=system:nodes, CN=system:node:n1.
constexpr const char* kMasters =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIZk1JR0hBZ0VBTUNVeEZ6QVZCZ05WQkFvTURu"
    "TjVjM1JsYlRwdFlYTjBaWEp6TVFvd0NBWURWUVFEREFGNApNRmt3RXdZSEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFj"
    "RFFnQUVKbzZCU2FvS29wMnRFSFhsaDBrcTZTdHVvL3k2CjNLbUhCYmQrRDdBSzF1M282NU1oNk9qNVgrS0p1YmVK"
    "ZjZleDNveVZyQk1DeDlDamtRL29pZmk0b3FBQU1Bb0cKQ0NxR1NNNDlCQU1DQTBjQU1FUUNJR2JkOTNKaDU4OWFr"
    "SU9KNzhYdndvbTRmazN5UkY4WlE1VFdyaGo0Mk9TbwpBaUErTS8vYytYU09peUM3VFZsZS9TeFNKUnVpUTR1OHpE"
    "dEovaVdrWStUN2pnPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
constexpr const char* kNode =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIc01JR1NBZ0VBTURBeEZUQVRCZ05WQkFvTURI"
    "TjVjM1JsYlRwdWIyUmxjekVYTUJVR0ExVUVBd3dPYzNsegpkR1Z0T201dlpHVTZiakV3V1RBVEJnY3Foa2pPUFFJ"
    "QkJnZ3Foa2pPUFFNQkJ3TkNBQVRJVWF5NG1HM0t1Z293CnE0Q3pTbXV1N2gzNDk1NGNmLzR1TGxObWhVcTBaVGt4"
    "RnNJTHE1MWpodjYzS2c2Szl1V2VkRy9nUm1JQ1d5L28KWnJvNTZET2FvQUF3Q2dZSUtvWkl6ajBFQXdJRFNRQXdS"
    "Z0loQUpYYmp0Wm02dzdScTh4SjNTNHo0NGx6N1h5QQpmS2FzUTArMnhwamxuL04rQWlFQWkvSnkweU9BV3I0anBx"
    "UkVNOXFHb25wZkRGUVJFUnlWZXBucE5ITTJkc2c9Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";

Value certificate_request(std::string_view name, std::string_view signer, const char* request) {
  return Value::object(
      {{"metadata", Value::object({{"name", name}})},
       {"spec", Value::object({{"request", request},
                               {"signerName", signer},
                               {"usages", Value::list({Value("client auth")})}})}});
}

Value pod(std::string_view name, std::string_view spec = "{}") {
  Value object = Value::object({{"metadata", Value::object({{"name", name}})}});
  object.set("spec", parse(spec));
  object.member("spec").set("containers",
                            Value::list({Value::object({{"name", "c"}, {"image", "a:1"}})}));
  return object;
}

TEST(CertificateSubjects, MayNotBeMasters) {
  TestServer server;
  const Answer refused = server.post(
      kRequests, certificate_request("m", "kubernetes.io/kube-apiserver-client", kMasters));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "certificatesigningrequests.certificates.k8s.io \"m\" is forbidden: use of "
            "kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed");
  // Other signers may do as they like.
  EXPECT_EQ(server.post(kRequests, certificate_request("o", "ex.com/signer", kMasters)).status,
            201);
  EXPECT_EQ(
      server.post(kRequests, certificate_request("n", "kubernetes.io/kube-apiserver-client", kNode))
          .status,
      201);
}

TEST(IngressClasses, TheNewestDefaultIsChosen) {
  TestServer server;
  const auto make_class = [&](std::string_view name) {
    Value object = parse(R"({"metadata":{"annotations":{
        "ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"ex.com/c"}})");
    object.member("metadata").set("name", name);
    ASSERT_EQ(server.post("/apis/networking.k8s.io/v1/ingressclasses", object).status, 201);
  };
  const auto class_of = [&](std::string_view name, std::string_view metadata = "{}") {
    Value object =
        parse(R"({"spec":{"defaultBackend":{"service":{"name":"a","port":{"number":1}}}}})");
    object.set("metadata", parse(metadata));
    object.member("metadata").set("name", name);
    return server.post(kIngresses, object).value["spec"]["ingressClassName"];
  };
  EXPECT_TRUE(class_of("none").is_null());
  make_class("c1");
  EXPECT_EQ(class_of("one"), Value("c1"));
  server.advance(std::chrono::seconds(1));
  make_class("c2");
  make_class("c0");
  EXPECT_EQ(class_of("newest-then-first-name"), Value("c0"));
  EXPECT_TRUE(
      class_of("old-way", R"({"annotations":{"kubernetes.io/ingress.class":"zz"}})").is_null());
}

TEST(Topology, PodsCarryTheirNodesLabels) {
  TestServer server;
  ASSERT_EQ(server
                .post("/api/v1/nodes",
                      parse(R"({"metadata":{"name":"n1","labels":{"topology.kubernetes.io/zone":"z",
                                "topology.kubernetes.io/region":"r","topology.ex.com/x":"1"}}})"))
                .status,
            201);
  Value there = pod("there", R"({"nodeName":"n1"})");
  there.member("metadata").set("labels", parse(R"({"topology.kubernetes.io/zone":"mine"})"));
  const Value wanted =
      parse(R"({"topology.kubernetes.io/region":"r","topology.kubernetes.io/zone":"z"})");
  const Answer made = server.post(kPods, there);
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.value["metadata"]["labels"]["topology.kubernetes.io/zone"], Value("z"));
  EXPECT_EQ(made.value["metadata"]["labels"].size(), 2U);

  ASSERT_EQ(server.post(kPods, pod("bound")).status, 201);
  const std::string bound = std::string(kPods) + "/bound";
  ASSERT_EQ(server
                .post(bound + "/binding", parse(R"({"metadata":{"name":"bound"},
                                                   "target":{"kind":"Node","name":"n1"}})"))
                .status,
            201);
  const Answer after = server.get(bound);
  EXPECT_EQ(after.value["metadata"]["labels"], wanted);
  EXPECT_EQ(after.value["metadata"]["generation"].as_int(), 1);
}

TEST(Bindings, NameTheirPod) {
  TestServer server;
  ASSERT_EQ(server.post(kPods, pod("p")).status, 201);
  const Value target = parse(R"({"target":{"kind":"Node","name":"n1"}})");
  EXPECT_EQ(server.post(std::string(kPods) + "/p/binding", target).message(),
            "name in URL does not match name in Binding object");
  EXPECT_EQ(server.post("/api/v1/namespaces/tst/bindings", target).message(),
            "Name parameter required.");
}

TEST(VolumeAttributes, AreProtected) {
  TestServer server;
  const Answer made = server.post("/apis/storage.k8s.io/v1/volumeattributesclasses",
                                  parse(R"({"metadata":{"name":"v"},"driverName":"d",
                                            "parameters":{"a":"b"}})"));
  EXPECT_EQ(made.value["metadata"]["finalizers"], parse(R"(["kubernetes.io/vac-protection"])"));
}

TEST(LimitRanges, BoundResizes) {
  TestServer server;
  Value small = pod("p");
  small.member("spec")
      .member("containers")
      .item(0)
      .set("resources", parse(R"({"requests":{"cpu":"500m"},"limits":{"cpu":"500m"}})"));
  ASSERT_EQ(server.post(kPods, small).status, 201);
  ASSERT_EQ(server
                .post("/api/v1/namespaces/tst/limitranges",
                      parse(R"({"metadata":{"name":"l"},"spec":{"limits":[
                                {"type":"Container","max":{"cpu":"1"}}]}})"))
                .status,
            201);
  const Answer refused =
      server.patch(std::string(kPods) + "/p/resize", "strategic-merge",
                   R"({"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2"}}}]}})");
  EXPECT_EQ(refused.status, 403) << refused.text;
  EXPECT_EQ(refused.message(),
            "pods \"p\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
}

// ---- kubelets

class Kubelet : public testing::Test {
 protected:
  Kubelet() {
    for (const char* name : {"n1", "n2"}) {
      Value node = Value::object({{"metadata", Value::object({{"name", name}})}});
      EXPECT_EQ(server_.post("/api/v1/nodes", node).status, 201);
      Value on = pod(std::string("on-") + name);
      on.member("spec").set("nodeName", name);
      EXPECT_EQ(server_.post(kPods, on).status, 201);
    }
    uid_ = server_.get("/api/v1/nodes/n1").value["metadata"]["uid"].str();
    server_.act_as("system:node:n1", {"system:nodes"});
  }

  void expect_refused(const Answer& answer, std::string_view text) {
    EXPECT_EQ(answer.status, 403) << answer.text;
    const std::string message = answer.message();
    const std::size_t colon = message.find(": ");
    EXPECT_EQ(message.substr(std::min(colon + 2, message.size())), text);
  }
  // A mirror pod; `owner` says more of its owner reference.
  Value mirror(std::string_view node, std::string_view owner, std::string_view spec = "{}") {
    Value object = pod("m", spec);
    Value& metadata = object.member("metadata");
    metadata.set("annotations", parse(R"({"kubernetes.io/config.mirror":"x"})"));
    Value reference = parse(owner);
    reference.set("apiVersion", "v1").set("kind", "Node").set("name", "n1");
    if (!reference.contains("uid")) {
      reference.set("uid", uid_);
    }
    metadata.set("ownerReferences", Value::list({reference}));
    object.member("spec").set("nodeName", node);
    return object;
  }
  Answer merge(std::string_view path, std::string body) {
    return server_.patch(path, "merge", std::move(body));
  }

  TestServer server_{};
  std::string uid_{};
};

TEST_F(Kubelet, MakesMirrorPodsOfItsOwn) {
  expect_refused(server_.post(kPods, pod("m")),
                 "pod does not have \"kubernetes.io/config.mirror\" annotation, node \"n1\" can "
                 "only create mirror pods");
  const struct {
    std::string_view node, owner, spec, error;
  } cases[] = {
      {"n2", R"({"controller":true})", "{}",
       "node \"n1\" can only create pods with spec.nodeName set to itself"},
      {"n1", R"({"controller":false})", "{}",
       "node \"n1\" can only create pods with a controller owner reference set to itself"},
      {"n1", R"({"controller":true,"blockOwnerDeletion":true})", "{}",
       "node \"n1\" must not set blockOwnerDeletion on an owner reference"},
      {"n1", R"({"controller":true})", R"({"serviceAccountName":"default"})",
       "a mirror pod may not reference service accounts"},
      {"n1", R"({"controller":true})", R"({"volumes":[{"name":"v","secret":{"secretName":"s"}}]})",
       "a mirror pod may not reference secrets"},
      {"n1", R"({"controller":true})", R"({"volumes":[{"name":"v","configMap":{"name":"s"}}]})",
       "node \"n1\" can not create pods that reference configmaps"},
      {"n1", R"({"controller":true})",
       R"({"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"s"}}]})",
       "node \"n1\" can not create pods that reference persistentvolumeclaims"},
  };
  for (const auto& c : cases) {
    expect_refused(server_.post(kPods, mirror(c.node, c.owner, c.spec)), c.error);
  }
  Value two = mirror("n1", R"({"controller":true})");
  Value other = two["metadata"]["ownerReferences"][0];
  other.set("controller", false).set("name", "n2");
  two.member("metadata").member("ownerReferences").push_back(other);
  expect_refused(server_.post(kPods, two),
                 "node \"n1\" can only create pods with a single owner reference set to itself");
  Value none = mirror("n1", "{}");
  none.member("metadata").erase("ownerReferences");
  expect_refused(server_.post(kPods, none),
                 "node \"n1\" can only create pods with an owner reference set to itself");
  EXPECT_EQ(server_.post(kPods, mirror("n1", R"({"controller":true})")).status, 201);
}

TEST_F(Kubelet, WritesThePodsOfItsNode) {
  const std::string mine = std::string(kPods) + "/on-n1";
  const std::string theirs = std::string(kPods) + "/on-n2";
  EXPECT_EQ(merge(mine + "/status", R"({"status":{"phase":"Running"}})").status, 200);
  expect_refused(
      merge(theirs + "/status", R"({"status":{"phase":"Running"}})"),
      "node \"n1\" can only update pod status for pods with spec.nodeName set to itself");
  expect_refused(merge(mine + "/status", R"({"metadata":{"labels":{"a":"b"}}})"),
                 "node \"n1\" cannot update labels through pod status");
  expect_refused(
      server_.post(theirs + "/eviction", parse(R"({"apiVersion":"policy/v1","kind":"Eviction",
                                        "metadata":{"name":"on-n2"}})")),
      "node n1 can only evict pods with spec.nodeName set to itself");
  expect_refused(server_.remove(theirs),
                 "node \"n1\" can only delete pods with spec.nodeName set to itself");
  EXPECT_EQ(server_.remove(mine).status, 200);
}

TEST_F(Kubelet, WritesItsOwnNode) {
  const std::string mine = "/api/v1/nodes/n1";
  EXPECT_EQ(merge(mine, R"({"metadata":{"annotations":{"a":"b"}}})").status, 200);
  EXPECT_EQ(merge(mine, R"({"metadata":{"labels":{"kubernetes.io/hostname":"n1","x":"y",
                       "kubelet.kubernetes.io/a":"1","node.kubernetes.io/b":"2"}}})")
                .status,
            200);
  expect_refused(merge("/api/v1/nodes/n2", R"({"metadata":{"annotations":{"a":"b"}}})"),
                 "node \"n1\" is not allowed to modify node \"n2\"");
  expect_refused(merge(mine, R"({"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}})"),
                 "node \"n1\" is not allowed to modify taints");
  expect_refused(merge(mine, R"({"metadata":{"labels":{"node-restriction.kubernetes.io/x":"b",
                               "kubernetes.io/zz":"1","x":"z"}}})"),
                 "is not allowed to modify labels: kubernetes.io/zz, "
                 "node-restriction.kubernetes.io/x");
  expect_refused(merge(mine, R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node",
                               "name":"n1","uid":"u"}]}})"),
                 "node \"n1\" is not allowed to modify ownerReferences");
  expect_refused(server_.post("/api/v1/nodes", parse(R"({"metadata":{"name":"n3"}})")),
                 "node \"n1\" is not allowed to modify node \"n3\"");
}

TEST_F(Kubelet, SetsNoLabelsOfAdministratorsAtItsBirth) {
  server_.act_as("system:node:n9", {"system:nodes"});
  expect_refused(
      server_.post("/api/v1/nodes", parse(R"({"metadata":{"name":"n9","labels":{"foo.k8s.io/a":"b",
                                        "node-restriction.kubernetes.io/x":"b"}}})")),
      "node \"n9\" is not allowed to set the following labels: foo.k8s.io/a, "
      "node-restriction.kubernetes.io/x");
  EXPECT_EQ(server_.post("/api/v1/nodes", parse(R"({"metadata":{"name":"n9"}})")).status, 201);
}

TEST_F(Kubelet, HasLeasesSlicesAndCertificatesInItsName) {
  const Value lease = parse(R"({"metadata":{"name":"n1"}})");
  expect_refused(server_.post("/apis/coordination.k8s.io/v1/namespaces/tst/leases", lease),
                 "can only access leases in the \"kube-node-lease\" system namespace");
  const char* leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  EXPECT_EQ(server_.post(leases, lease).status, 201);
  expect_refused(server_.post(leases, parse(R"({"metadata":{"name":"n2"}})")),
                 "can only access node lease with the same name as the requesting node");
  expect_refused(server_.post("/apis/storage.k8s.io/v1/csinodes",
                              parse(R"({"metadata":{"name":"n2"},"spec":{"drivers":[]}})")),
                 "can only access CSINode with the same name as the requesting node");
  expect_refused(
      server_.post("/apis/resource.k8s.io/v1/resourceslices",
                   parse(R"({"metadata":{"name":"s"},"spec":{"driver":"d.x","nodeName":"n2",
                             "pool":{"name":"p","generation":1,"resourceSliceCount":1}}})")),
      "can only create ResourceSlice with the same NodeName as the requesting node");
  constexpr const char* kSigner = "kubernetes.io/kube-apiserver-client-kubelet";
  EXPECT_EQ(server_.post(kRequests, certificate_request("mine", kSigner, kNode)).status, 201);
  expect_refused(server_.post(kRequests, certificate_request("other", kSigner, kMasters)),
                 "can only create a node CSR with CN=system:node:n1");
}

TEST_F(Kubelet, IsDistinguishedFromOtherUsers) {
  server_.act_as("somebody", {"system:nodes"});
  expect_refused(merge("/api/v1/nodes/n1", R"({"metadata":{"annotations":{"a":"c"}}})"),
                 "could not determine node from user \"somebody\"");
  server_.act_as("system:node:n1", {"others"});
  EXPECT_EQ(merge("/api/v1/nodes/n2", R"({"metadata":{"annotations":{"a":"c"}}})").status, 200);
}

}  // namespace
}  // namespace athanor::apiserver::admission_plugins_test
