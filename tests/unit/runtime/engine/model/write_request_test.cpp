// SPDX-License-Identifier: Apache-2.0
// Requests of writes: paths, methods and preconditions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "runtime/engine/model/write_request.hpp"
#include "unit/runtime/object_fixture.hpp"

namespace athanor::runtime::write_request_test {
namespace {

using api::kPod;

TEST(WriteRequest, PathsAndMethods) {
  const Ref ref{&api::kJob, {"a", "j"}};
  const auto text = [](const WriteRequest& write) {
    const HttpForm form = http_form(write);
    return form.method + " " + form.path;
  };
  EXPECT_EQ(text(request_for(Create{.target = ref})), "POST /apis/batch/v1/namespaces/a/jobs");
  EXPECT_EQ(text(request_for(Apply{.target = ref})), "PATCH /apis/batch/v1/namespaces/a/jobs/j");
  EXPECT_EQ(text(request_for(Patch{.target = ref, .subresource = "scale"})),
            "PATCH /apis/batch/v1/namespaces/a/jobs/j/scale");
  EXPECT_EQ(text(request_for(Replace{.target = {&kPod, {"a", "p"}}, .subresource = "binding"})),
            "POST /api/v1/namespaces/a/pods/p/binding");
  EXPECT_EQ(text(request_for(
                Replace{.target = {&api::kNamespace, {"", "n"}}, .subresource = "finalize"})),
            "PUT /api/v1/namespaces/n/finalize");
  EXPECT_EQ(text(request_for(Delete{.target = ref})), "DELETE /apis/batch/v1/namespaces/a/jobs/j");
}

TEST(WriteRequest, ADeleteCarriesItsPreconditions) {
  const WriteRequest request = request_for(Delete{.target = {&kPod, {"a", "p"}},
                                                  .guard = {.uid = "u", .resource_version = "7"},
                                                  .mode = Propagation::Foreground,
                                                  .grace_seconds = 0});
  EXPECT_EQ(request.body["preconditions"], parsed(R"({"uid": "u", "resourceVersion": "7"})"));
  EXPECT_EQ(request.body["propagationPolicy"].as_string(), "Foreground");
  EXPECT_EQ(request.body["gracePeriodSeconds"].as_int(-1), 0);
}

}  // namespace
}  // namespace athanor::runtime::write_request_test
