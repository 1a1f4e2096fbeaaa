// SPDX-License-Identifier: Apache-2.0
#include "scenarios/review.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/admission.hpp"
#include "runtime/view/view.hpp"
#include "scenarios/match.hpp"
#include "scenarios/registry.hpp"
#include "support/fake_world.hpp"

namespace athanor::test {

namespace {

class Reviews {
 public:
  Reviews(const Value& table, const Webhook& webhook) : table_(table), webhook_(webhook) {
    for (const Member& section : table["config"].members()) {
      world_.configure(section.key(), section.value);
    }
    for (const Value& object : table["given"].items()) {
      world_.put(object);
    }
  }

  void play() {
    EXPECT_GT(table_["rows"].size(), 0U) << "a table without rows";
    for (std::size_t i = 0; i < table_["rows"].size(); ++i) {
      const Value& row = table_["rows"][i];
      const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                         "row " + std::to_string(i + 1) + " " + row["name"].str() +
                                             " " + json::print(row["object"]));
      review(row);
    }
  }

 private:
  // What all rows have in common, with what the row says.
  [[nodiscard]] Value object_of(const Value& changes) const {
    return apply_merge_patch(table_["object"], changes);
  }

  void review(const Value& row) {
    AdmissionRequest request;
    request.object = object_of(row["object"]);
    if (row.contains("old")) {
      request.operation = AdmissionRequest::Operation::Update;
      request.old_object = object_of(row["old"]);
    }
    request.kind = request.object["kind"].str();
    for (const WebhookRule& rule : webhook_.rules) {
      if (rule.kind->name == request.kind) {
        request.group = rule.kind->group;
        request.version = rule.kind->version;
        request.resource = rule.kind->plural;
      }
    }
    ASSERT_FALSE(request.resource.empty()) << webhook_.name << " has no rule for " << request.kind;
    request.key = {request.object["metadata"]["namespace"].str(),
                   request.object["metadata"]["name"].str()};
    Reads reads;
    const Verdict verdict = webhook_.admit(View(world_, reads), request, world_.now);
    if (row.contains("refused")) {
      EXPECT_FALSE(verdict.allowed) << "let pass";
      EXPECT_EQ(verdict.code, table_["code"].as_int(verdict.code));
      EXPECT_EQ(verdict.message, table_["prefix"].str() + row["refused"].str());
      return;
    }
    EXPECT_TRUE(verdict.allowed) << verdict.message;
    if (row.contains("becomes")) {
      const auto changed = verdict.patch.is_null()
                               ? Result<Value>(request.object)
                               : apply_json_patch(request.object, verdict.patch);
      ASSERT_TRUE(changed.ok()) << changed.error().message;
      EXPECT_TRUE(contains(*changed, row["becomes"])) << "the object becomes\n"
                                                      << yaml::print(*changed) << "and has not\n"
                                                      << yaml::print(row["becomes"]);
    }
    if (row.contains("warned")) {
      Value warnings = Value::list();
      for (const std::string& warning : verdict.warnings) {
        warnings.push_back(warning);
      }
      EXPECT_EQ(json::print(warnings), json::print(row["warned"]));
    }
  }

  const Value& table_;
  const Webhook& webhook_;
  FakeWorld world_{};
};

}  // namespace

void play_reviews(const Value& table) {
  const Webhook* webhook = find_webhook(table["webhook"].as_string());
  ASSERT_NE(webhook, nullptr) << "no webhook " << table["webhook"].as_string();
  Reviews(table, *webhook).play();
}

}  // namespace athanor::test
