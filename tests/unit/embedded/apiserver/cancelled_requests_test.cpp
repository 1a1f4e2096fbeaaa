// SPDX-License-Identifier: Apache-2.0
// Requests whose work is given up under way (docs/spec/apiserver.md 2.9).
#include <fmt/format.h>

#include <atomic>
#include <memory>

#include "base/cancellation.hpp"
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::cancelled_requests_test {
namespace {

constexpr int kMany = 300;

Value wide_data(std::string_view value) {
  std::vector<Member> data;
  for (int i = 0; i < kMany; ++i) {
    data.emplace_back(fmt::format("k{:06}", i), Value(value));
  }
  return Value::object(std::move(data));
}

Value wide_map(std::string_view name, std::string_view value) {
  Value object = config_map(name);
  object.set("data", wide_data(value));
  return object;
}

class CancelledRequests : public ::testing::Test {
 protected:
  CancelledRequests() {
    for (int i = 0; i < kMany; ++i) {
      EXPECT_EQ(server.post(kMaps, config_map(fmt::format("m{}", i))).status, 201);
    }
    EXPECT_EQ(server.post(kMaps, wide_map("wide", "a")).status, 201);
  }

  // The answer to a request under that cancellation.
  Answer ask(const std::shared_ptr<Cancellation>& cancellation, std::string_view method,
             std::string_view path, const Value& body = {}, std::string_view type = "json") {
    Request request;
    request.method = method;
    const std::size_t question = path.find('?');
    request.path = path.substr(0, question);
    if (question != std::string_view::npos) {
      request.query.emplace_back(path.substr(question + 1, path.find('=') - question - 1),
                                 path.substr(path.find('=') + 1));
    }
    request.credentials.internal_user = "system:admin";
    if (!body.is_null()) {
      request.body = json::print(body);
      request.headers.emplace("content-type", fmt::format("application/{}", type));
    }
    Response response;
    const CancellationScope scope(cancellation);
    server.server().handle_async(
        std::move(request), server.now(), [](UniqueFunction<void()> task) { task(); },
        [&response](Response answer) { response = std::move(answer); });
    Answer answer;
    answer.status = response.status;
    answer.value = response.value.value_or(Value());
    return answer;
  }

  // Every kind of request with a long loop.
  template <class Check>
  void for_each_request(const Check& check) {
    Value operations = Value::list();
    for (int i = 0; i < kMany; ++i) {
      operations.push_back(Value::object(
          {{"op", "replace"}, {"path", fmt::format("/data/k{:06}", i)}, {"value", "b"}}));
    }
    const std::string wide = std::string(kMaps) + "/wide";
    check("GET", kMaps, Value(), "");
    check("DELETE", kMaps, Value(), "");
    check("POST", kMaps, wide_map("fresh", "a"), "json");
    check("PUT", wide, wide_map("wide", "b"), "json");
    check("PATCH", wide, operations, "json-patch+json");
    check("PATCH", wide, wide_map("wide", "b"), "merge-patch+json");
    check("PATCH", wide, wide_map("wide", "b"), "strategic-merge-patch+json");
    check("PATCH", wide + "?fieldManager=f", wide_map("wide", "a"), "apply-patch+yaml");
  }

  static constexpr const char* kMaps = "/api/v1/namespaces/tst/configmaps";
  TestServer server{[] {
    Options options;
    options.request_timeout = std::chrono::microseconds(1);
    return options;
  }()};
};

TEST_F(CancelledRequests, EndsSlowOnesWithoutEffect) {
  const auto before = server.store().revision();
  for_each_request([&](std::string_view method, std::string_view path, const Value& body,
                       std::string_view type) {
    const Answer answer = ask(std::make_shared<Cancellation>(), method, path, body, type);
    EXPECT_EQ(answer.status, 504) << method << " " << type;
    EXPECT_EQ(answer.reason(), "Timeout");
    EXPECT_EQ(answer.message(), "Timeout: request did not complete within the allotted timeout");
  });
  EXPECT_EQ(server.store().revision(), before);
}

TEST_F(CancelledRequests, EndExpressionsOfPolicies) {
  const auto create = [this](std::string_view name) {
    return ask(std::make_shared<Cancellation>(), "POST", kMaps, config_map(name), "json").status;
  };
  EXPECT_EQ(create("small"), 201) << "it has no long loop";
  const std::string ten = "[0,1,2,3,4,5,6,7,8,9]";
  const Value expression = Value::object(
      {{"expression",
        fmt::format("{0}.all(a, {0}.all(b, {0}.all(c, {0}.all(d, a+b+c+d >= 0))))", ten)}});
  const Value rule = Value::object({{"apiGroups", Value::list({""})},
                                    {"apiVersions", Value::list({"v1"})},
                                    {"operations", Value::list({"CREATE"})},
                                    {"resources", Value::list({"configmaps"})}});
  const std::string group = "/apis/admissionregistration.k8s.io/v1/";
  ASSERT_EQ(server
                .post(group + "validatingadmissionpolicies",
                      Value::object(
                          {{"metadata", Value::object({{"name", "dear"}})},
                           {"spec", Value::object(
                                        {{"matchConstraints",
                                          Value::object({{"resourceRules", Value::list({rule})}})},
                                         {"validations", Value::list({expression})}})}}))
                .status,
            201);
  ASSERT_EQ(
      server
          .post(group + "validatingadmissionpolicybindings",
                Value::object(
                    {{"metadata", Value::object({{"name", "dear"}})},
                     {"spec", Value::object({{"policyName", "dear"},
                                             {"validationActions", Value::list({"Deny"})}})}}))
          .status,
      201);
  EXPECT_EQ(create("large"), 504);
}

TEST_F(CancelledRequests, TheyEndWithTheServer) {
  const auto ending = std::make_shared<std::atomic<bool>>(true);
  const auto before = server.store().revision();
  for_each_request([&](std::string_view method, std::string_view path, const Value& body,
                       std::string_view type) {
    const Answer answer = ask(std::make_shared<Cancellation>(ending), method, path, body, type);
    EXPECT_EQ(answer.status, 503) << method << " " << type;
  });
  EXPECT_EQ(server.store().revision(), before);
}

TEST_F(CancelledRequests, WithoutACancellationTheyGoOn) {
  const Answer answer = ask(nullptr, "PUT", std::string(kMaps) + "/wide", wide_map("wide", "b"));
  EXPECT_EQ(answer.status, 200) << answer.message();
}

}  // namespace
}  // namespace athanor::apiserver::cancelled_requests_test
