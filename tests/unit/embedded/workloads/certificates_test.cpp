// SPDX-License-Identifier: Apache-2.0
// Certificate signing requests: who is approved, what is signed, when they go.
#include "embedded/workloads/certificates.hpp"

#include <gtest/gtest.h>

#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::certificates_test {
namespace {

const Key kRequest{"", "r"};

class CertificateTest : public WorkloadTest {
 protected:
  CertificateTest()
      : WorkloadTest({&certificate_approving_operator(), &certificate_signing_operator(),
                      &certificate_cleaner_operator()}) {
    wish("system:node:n1", "[system:nodes]");
  }
  // What the request, whose text is "pem", says.
  void wish(const std::string& name, const std::string& organizations,
            const std::string& hosts = "[]") {
    world.observe_as("certificate-request:pem",
                     yaml::parse("{commonName: '" + name + "', organizations: " + organizations +
                                 ", hosts: " + hosts + ", others: []}")
                         .value());
  }
  void request(const std::string& signer, const std::string& usages, bool approved = true) {
    Object made = put(
        "{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: r, "
        "creationTimestamp: '" +
        format_time(world.now) +
        "'}, spec: {request: pem, username: "
        "jane, signerName: kubernetes.io/" +
        signer + ", usages: [" + usages + "]}}");
    uid_ = std::string(made.uid());
    world.observe_as("certificate:" + uid_ + ":client:0:pem",
                     Value::object({{"certificate", "CLIENT"}}));
    world.observe_as("certificate:" + uid_ + ":server:0:pem",
                     Value::object({{"certificate", "SERVER"}}));
    if (approved) {
      decide("Approved");
    }
    settle();
  }
  void decide(const char* type) {
    world.update(api::kCertificateSigningRequest, kRequest, [&](Value& body) {
      body.set_path(
          {"status", "conditions"},
          Value::list({Value::object(
              {{"type", type}, {"status", "True"}, {"lastUpdateTime", format_time(world.now)}})}));
    });
  }
  std::string certificate() {
    return world.must(api::kCertificateSigningRequest, kRequest).status()["certificate"].str();
  }
  std::string failure() {
    return world.condition(api::kCertificateSigningRequest, kRequest, "Failed")["message"].str();
  }
  std::string uid_{};
};

TEST_F(CertificateTest, ApprovedRequestsAreSigned) {
  request("kube-apiserver-client", "client auth, digital signature");
  EXPECT_EQ(certificate(), "CLIENT");
}

TEST_F(CertificateTest, OthersAreNot) {
  request("kube-apiserver-client", "client auth", false);
  EXPECT_EQ(certificate(), "");
  decide("Denied");
  settle();
  EXPECT_EQ(certificate(), "");
}

TEST_F(CertificateTest, SignersOfOthersAreLeftAlone) {
  put("{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: r}, "
      "spec: {request: pem, signerName: example.com/own, usages: [client auth]}}");
  decide("Approved");
  settle();
  EXPECT_EQ(certificate(), "");
  EXPECT_EQ(failure(), "");
}

TEST_F(CertificateTest, FailsRequestThatSignerDoesNotTake) {
  request("kube-apiserver-client", "server auth");
  EXPECT_EQ(certificate(), "");
  EXPECT_EQ(failure(), "usages did not contain client auth");
}

TEST_F(CertificateTest, RefusesGroupSystemMasters) {
  wish("jane", "[devs, 'system:masters']");
  request("kube-apiserver-client", "client auth");
  EXPECT_EQ(certificate(), "");
  EXPECT_EQ(failure(),
            "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not "
            "allowed");
}

TEST_F(CertificateTest, KubeletsServeUnderTheirNames) {
  request("kubelet-serving", "server auth, digital signature");
  EXPECT_EQ(failure(), "DNS or IP subjectAltName is required");
  world.remove(api::kCertificateSigningRequest, kRequest);
  settle();
  wish("system:node:n1", "[system:nodes]", "[n1]");
  request("kubelet-serving", "server auth, digital signature");
  EXPECT_EQ(certificate(), "SERVER");
}

TEST_F(CertificateTest, RemovesDecidedAfterHourOpenAfterDay) {
  request("kube-apiserver-client", "client auth");
  pass(std::chrono::minutes(59));
  EXPECT_TRUE(world.has(api::kCertificateSigningRequest, kRequest));
  pass(std::chrono::minutes(2));
  EXPECT_FALSE(world.has(api::kCertificateSigningRequest, kRequest));
  request("kube-apiserver-client", "client auth", false);
  pass(std::chrono::hours(23));
  EXPECT_TRUE(world.has(api::kCertificateSigningRequest, kRequest));
  pass(std::chrono::hours(2));
  EXPECT_FALSE(world.has(api::kCertificateSigningRequest, kRequest));
}

}  // namespace
}  // namespace athanor::workloads::certificates_test
