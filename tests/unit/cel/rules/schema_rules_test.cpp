// SPDX-License-Identifier: Apache-2.0
// Rules of schemas: what they say about objects, and which of them a definition may have
// (docs/spec/apiserver.md 13.5).
#include "cel/rules/schema_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/schema/structural_schema.hpp"
#include "kube/text/json.hpp"

namespace athanor::cel::schema_rules_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Value parse(std::string_view text) {
  const auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *value : Value();
}

// {"type":"object","properties":{"spec":SPEC}} with its rules compiled.
class World {
 public:
  explicit World(std::string_view spec, std::string_view root_rules = "[]") {
    open_api_ = parse(R"j({"type":"object","properties":{}})j");
    open_api_.set_path({"properties", "spec"}, parse(spec));
    open_api_.set("x-kubernetes-validations", parse(root_rules));
    auto schema = StructuralSchema::parse(open_api_, "s");
    EXPECT_TRUE(schema.ok());
    schema_ = *schema;
    rules_ = SchemaRules::compile(*schema_->root());
  }

  // Every error as "FIELD: DETAIL"; `before` empty: a create.
  std::vector<std::string> judge(std::string_view spec, std::string_view before = {}) {
    Value object = parse(R"j({"apiVersion":"ex.com/v1","kind":"A","metadata":{"name":"a"}})j");
    Value old_object = object;
    object.set("spec", parse(spec));
    if (!before.empty()) {
      old_object.set("spec", parse(before));
    }
    if (rules_ == nullptr) {
      return {"no rules"};
    }
    const auto verdict = rules_->judge(object, before.empty() ? nullptr : &old_object);
    ratcheted_ = verdict.ratcheted;
    return texts(verdict.errors);
  }
  // A change of an object that shares with it what it leaves.
  std::vector<std::string> judge_edit(std::string_view before, std::string_view member, int number,
                                      bool old_holds) {
    const Value old_object = parse(before);
    Value object = old_object;
    object.member("spec").set(member, number);
    const auto verdict = rules_->judge(object, &old_object, old_holds);
    ratcheted_ = verdict.ratcheted;
    return texts(verdict.errors);
  }
  std::vector<std::string> check() {
    return texts(check_schema_rules(open_api_, *schema_->root(), "s"));
  }
  [[nodiscard]] const std::vector<std::string>& ratcheted() const { return ratcheted_; }

 private:
  static std::vector<std::string> texts(const std::vector<FieldError>& errors) {
    std::vector<std::string> result;
    result.reserve(errors.size());
    for (const FieldError& error : errors) {
      result.push_back(error.text());
    }
    return result;
  }

  Value open_api_{};
  StructuralSchema::Ptr schema_{};
  std::shared_ptr<const SchemaRules> rules_{};
  std::vector<std::string> ratcheted_{};
};

constexpr std::string_view kLimits =
    R"j({"type":"object","properties":{"min":{"type":"integer"},"max":{"type":"integer"},
        "name":{"type":"string","maxLength":20}},"x-kubernetes-validations":[RULE]})j";

std::string limits(std::string_view rule) {
  std::string text(kLimits);
  return text.replace(text.find("RULE"), 4, rule);
}

TEST(SchemaRules, NothingToDoWithoutRules) {
  World world(R"j({"type":"object"})j");
  EXPECT_THAT(world.judge("{}"), ElementsAre("no rules"));
}

TEST(SchemaRules, ABrokenRuleIsTheRulesText) {
  World world(limits(R"j({"rule":"self.min <= self.max"})j"));
  EXPECT_THAT(world.judge(R"j({"min":1,"max":2})j"), IsEmpty());
  EXPECT_THAT(world.judge(R"j({"min":3,"max":2})j"),
              ElementsAre(R"j(spec: Invalid value: failed rule: self.min <= self.max)j"));
}

TEST(SchemaRules, MessageReasonAndFieldPathShapeTheError) {
  World world(limits(R"j({"rule":"self.min <= self.max","message":"min above max",
                         "fieldPath":".min","reason":"FieldValueForbidden"})j"));
  EXPECT_THAT(world.judge(R"j({"min":3,"max":2})j"),
              ElementsAre("spec.min: Forbidden: min above max"));
  World required(limits(R"j({"rule":"has(self.name)","message":"say a name",
                            "fieldPath":".name","reason":"FieldValueRequired"
})j"));
  EXPECT_THAT(required.judge("{}"), ElementsAre("spec.name: Required value: say a name"));
}

TEST(SchemaRules, AMessageExpressionWinsOverTheMessage) {
  World world(limits(R"j({"rule":"self.min <= self.max","message":"plain",
      "messageExpression":"'min %d exceeds %d'.format([self.min, self.max])"})j"));
  EXPECT_THAT(world.judge(R"j({"min":3,"max":2})j"),
              ElementsAre(R"j(spec: Invalid value: min 3 exceeds 2)j"));
  World broken(limits(R"j({"rule":"self.min > 1","message":"plain",
      "messageExpression":"'a' + string(self.max)"
  })j"));
  EXPECT_THAT(broken.judge(R"j({"min":0})j"), ElementsAre(R"j(spec: Invalid value: plain)j"));
}

TEST(SchemaRules, AnEvaluationErrorIsAFailure) {
  World world(limits(R"j({"rule":"self.min <= self.max","message":"min above max"})j"));
  EXPECT_THAT(world.judge(R"j({"min":3})j"),
              ElementsAre(R"j(spec: Invalid value: "object": no such key: max evaluating rule: )j"
                          "min above max"));
}

TEST(SchemaRules, ScalarsShowTheirValue) {
  World world(R"j({"type":"object","properties":{"n":{"type":"integer",
      "x-kubernetes-validations":[{"rule":"self % 2 == 0","message":"must be even"}]}}})j");
  EXPECT_THAT(world.judge(R"j({"n":3})j"), ElementsAre("spec.n: Invalid value: 3: must be even"));
}

TEST(SchemaRules, TransitionRulesNeedAnOldValue) {
  World world(limits(R"j({"rule":"self.min >= oldSelf.min","message":"must only increase"})j"));
  EXPECT_THAT(world.judge(R"j({"min":1})j"), IsEmpty());
  EXPECT_THAT(world.judge(R"j({"min":1})j", R"j({"min":1})j"), IsEmpty());
  EXPECT_THAT(world.judge(R"j({"min":1})j", R"j({"min":2})j"),
              ElementsAre(R"j(spec: Invalid value: must only increase)j"));
}

TEST(SchemaRules, OptionalOldSelfIsJudgedOnCreateToo) {
  World world(limits(R"j({"rule":"oldSelf.hasValue() || self.min == 0","optionalOldSelf":true,
                         "message":"start at 0"})j"));
  EXPECT_THAT(world.judge(R"j({"min":1})j"), ElementsAre(R"j(spec: Invalid value: start at 0)j"));
  EXPECT_THAT(world.judge(R"j({"min":1})j", R"j({"min":0})j"), IsEmpty());
}

TEST(SchemaRules, KeyedListsAreComparedByKey) {
  World world(R"j({"type":"object","properties":{"items":{"type":"array","maxItems":9,
      "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
      "items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},
        "v":{"type":"integer","x-kubernetes-validations":[
          {"rule":"self >= oldSelf","message":"must grow"}]}}}}}})j");
  EXPECT_THAT(world.judge(R"j({"items":[{"k":"b","v":1},{"k":"a","v":1}]})j",
                          R"j({"items":[{"k":"a","v":2},{"k":"b","v":0}]})j"),
              ElementsAre("spec.items[1].v: Invalid value: 1: must grow"));
  EXPECT_THAT(world.judge(R"j({"items":[{"k":"new","v":0}]})j", R"j({"items":[]})j"), IsEmpty());
}

TEST(SchemaRules, SetsAndKeyedListsCompareWithoutOrder) {
  World world(R"j({"type":"object","x-kubernetes-validations":[
      {"rule":"self.tags == oldSelf.tags","message":"immutable"}],
      "properties":{"tags":{"type":"array","x-kubernetes-list-type":"set","maxItems":5,
        "items":{"type":"string","maxLength":9}}}})j");
  EXPECT_THAT(world.judge(R"j({"tags":["a","b"]})j", R"j({"tags":["b","a"]})j"), IsEmpty());
  EXPECT_THAT(world.judge(R"j({"tags":["a"]})j", R"j({"tags":["b"]})j"),
              ElementsAre(R"j(spec: Invalid value: immutable)j"));
}

TEST(SchemaRules, MapsAndItemsHaveTheirPaths) {
  World world(R"j({"type":"object","properties":{
      "m":{"type":"object","additionalProperties":{"type":"integer",
        "x-kubernetes-validations":[{"rule":"self > 0"}]}},
      "l":{"type":"array","items":{"type":"integer",
        "x-kubernetes-validations":[{"rule":"self > 0"}]}}}})j");
  EXPECT_THAT(world.judge(R"j({"m":{"x":0},"l":[1,-1]})j"),
              ElementsAre("spec.m[x]: Invalid value: 0: failed rule: self > 0",
                          "spec.l[1]: Invalid value: -1: failed rule: self > 0"));
}

TEST(SchemaRules, TheRootSeesNameKindAndVersion) {
  World world(R"j({"type":"object"})j",
              R"j([{"rule":"self.metadata.name == 'one' && self.kind == 'A'",
                   "message":"must be 'one'"}])j");
  EXPECT_THAT(world.judge("{}"), ElementsAre(R"j(<nil>: Invalid value: must be 'one')j"));
  World labels(R"j({"type":"object"})j", R"j([{"rule":"self.metadata.labels.size() > 0"}])j");
  EXPECT_THAT(labels.check(), ElementsAre(HasSubstr("undefined field 'labels'")));
}

TEST(SchemaRules, FormatsAreTypes) {
  World world(R"j({"type":"object","x-kubernetes-validations":[
      {"rule":"self.end - self.start < duration('1h') && self.wait < duration('1m')"},
      {"rule":"self.day.getFullYear() == 2026 && size(self.raw) == 3"},
      {"rule":"type(self.port) == int ? self.port > 0 : self.port.matches('^[a-z]+$')"},
      {"rule":"self.a__dash__b == 1 && self.__in__ == 2"}],
      "properties":{
  "start" : {"type" : "string", "format" : "date-time"},
            "end" : {"type" : "string", "format" : "date-time"},
                    "wait" : {"type" : "string", "format" : "duration"},
                             "day" : {"type" : "string", "format" : "date"},
                                     "raw" : {"type" : "string", "format" : "byte"},
                                             "port" : {"x-kubernetes-int-or-string" : true},
                                                      "a-b" : {"type" : "integer"},
                                                              "in" : {
    "type" : "integer"
  }
}
})j");
  EXPECT_THAT(world.judge(R"j({"start":"2026-01-01T00:00:00Z","end":"2026-01-01T00:30:00Z",
      "wait":"5s","day":"2026-02-03","raw":"YWJj","port":"http","a-b":1,"in":2})j"),
              IsEmpty());
}

// A reserved word is a field's name as it is, and escaped.
TEST(SchemaRules, TakesReservedWordsAsFieldNames) {
  for (const std::string word :
       {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
        "loop", "package", "namespace", "return", "var", "void", "while"}) {
    World world(R"j({"type":"object","properties":{")j" + word +
                R"j(":{"type":"string","maxLength":9}},"x-kubernetes-validations":[
                  {"rule":"!has(self.)j" +
                word + ") || self." + word + R"j( != 'a'","message":"plain"},
                  {"rule":"!has(self.__)j" +
                word + "__) || self.__" + word + R"j(__ != 'b'","message":"escaped"}]})j");
    EXPECT_THAT(world.check(), IsEmpty()) << word;
    EXPECT_THAT(world.judge("{\"" + word + R"j(":"a"})j"), ElementsAre(HasSubstr("plain")));
    EXPECT_THAT(world.judge("{\"" + word + R"j(":"b"})j"), ElementsAre(HasSubstr("escaped")));
    EXPECT_THAT(world.judge("{\"" + word + R"j(":"c"})j"), IsEmpty());
    EXPECT_THAT(world.judge("{}"), IsEmpty());
  }
  World world(limits(R"j({"rule":"self.namespace == ''"})j"));
  EXPECT_THAT(world.check(), ElementsAre(HasSubstr("undefined field 'namespace'")));
}

TEST(SchemaRules, UnchangedPartsAreOnlyWarnedAbout) {
  World world(R"j({"type":"object","properties":{
      "a":{"type":"object","properties":{"n":{"type":"integer"}},
           "x-kubernetes-validations":[{"rule":"self.n > 0","message":"n too small"}]},
      "b":{"type":"integer"}}})j");
  EXPECT_THAT(world.judge(R"j({"a":{"n":0},"b":2})j", R"j({"a":{"n":0},"b":1})j"), IsEmpty());
  EXPECT_THAT(world.ratcheted(), ElementsAre(R"j(spec.a: Invalid value: n too small)j"));
  EXPECT_THAT(world.judge(R"j({"a":{"n":-1},"b":1})j", R"j({"a":{"n":0},"b":1})j"),
              ElementsAre(R"j(spec.a: Invalid value: n too small)j"));
}

TEST(SchemaRules, SkipsUnchangedValidValues) {
  World world(R"j({"type":"object","properties":{
      "a":{"type":"object","properties":{"n":{"type":"integer"}},
           "x-kubernetes-validations":[{"rule":"self.n > 0","message":"n too small"}]},
      "t":{"type":"object","properties":{"n":{"type":"integer"}},
           "x-kubernetes-validations":[{"rule":"self.n > oldSelf.n","message":"n does not grow"}]},
      "b":{"type":"integer","x-kubernetes-validations":[{"rule":"self < 3","message":"big"}]}}})j");
  constexpr std::string_view kBefore = R"j({"spec":{"a":{"n":0},"b":1}})j";
  EXPECT_THAT(world.judge_edit(kBefore, "b", 2, true), IsEmpty());
  EXPECT_THAT(world.ratcheted(), IsEmpty()) << "it is taken for granted";
  EXPECT_THAT(world.judge_edit(kBefore, "b", 2, false), IsEmpty());
  EXPECT_THAT(world.ratcheted(), ElementsAre("spec.a: Invalid value: n too small"));
  EXPECT_THAT(world.judge_edit(kBefore, "b", 4, true),
              ElementsAre("spec.b: Invalid value: 4: big"));
  // A rule that compares has something to say of an equal pair, too.
  EXPECT_THAT(world.judge_edit(R"j({"spec":{"t":{"n":1},"b":1}})j", "b", 2, true),
              ElementsAre("spec.t: Invalid value: n does not grow"));
}

TEST(SchemaRules, StopsJudgingAtTooCostlyRule) {
  World world(R"j({"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"},
      "x-kubernetes-validations":[
        {"rule":"self.all(a, self.all(b, a + b >= 0))","message":"pairs"},
        {"rule":"false","message":"never reached"}]
}
}
})j");
  std::string list = "0";
  for (int i = 0; i < 600; ++i) {
    list += ",1";
  }
  EXPECT_THAT(world.judge(R"j({"l":[)j" + list + "]}"),
              ElementsAre(R"j(spec.l: Invalid value: "array": 'operation cancelled: actual cost )j"
                          "limit exceeded': no further validation rules will be run due to call "
                          "cost exceeds limit for rule: pairs"));
}

struct BadRule {
  const char* rule = nullptr;
  const char* error = nullptr;
};

void PrintTo(const BadRule& row, std::ostream* out) {
  *out << row.rule;
}

class BadRules : public ::testing::TestWithParam<BadRule> {};

TEST_P(BadRules, AreRefusedWhereTheyStand) {
  World world(limits(GetParam().rule));
  EXPECT_THAT(world.check(), ElementsAre(HasSubstr(GetParam().error)));
}

constexpr BadRule kBadRules[] = {
    {R"j({"rule":"self.nope"})j",
     "s.properties[spec].x-kubernetes-validations[0].rule: Invalid value: "
     "{\"Rule\":\"self.nope\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,"
     "\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:5: "
     "undefined field 'nope'\n | self.nope\n | ....^"},
    {R"j({"rule":"self.min"})j", "cel expression must evaluate to a bool"},
    {R"j({"rule":" "})j",
     "x-kubernetes-validations[0].rule: Required value: rule is not specified"},
    {R"j({"rule":"true","message":" "})j",
     "message: Invalid value: \" \": must be non-empty if specified"},
    {R"j({"rule":"true","message":"a\nb"})j", ": must not contain line breaks"},
    {R"j({"rule":"true\n&& true"})j",
     "message: Required value: message must be specified if rule contains line breaks"},
    {R"j({"rule":"true","reason":"Nope"})j",
     "reason: Unsupported value: \"Nope\": supported values: \"FieldValueDuplicate\", "
     "\"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\""},
    {R"j({"rule":"true","fieldPath":".nope"})j",
     "fieldPath: Invalid value: \".nope\": must be a valid path"},
    {R"j({"rule":"true","messageExpression":"1"})j", "messageExpression must evaluate to a string"},
    {R"j({"rule":"true","messageExpression":"self.x"})j",
     "messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'x'"},
    {R"j({"rule":"true","optionalOldSelf":true})j",
     "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"},
};
INSTANTIATE_TEST_SUITE_P(All, BadRules, ::testing::ValuesIn(kBadRules));

TEST(SchemaRulesCheck, OldSelfNeedsACounterpart) {
  World world(R"j({"type":"object","properties":{"l":{"type":"array","maxItems":3,
      "items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > oldSelf"}]}}}})j");
  EXPECT_THAT(
      world.check(),
      ElementsAre("s.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: "
                  "Invalid value: \"self > oldSelf\": oldSelf cannot be used on the "
                  "uncorrelatable portion of the schema within "
                  "s.properties[spec].properties[l]"));
}

TEST(SchemaRulesCheck, UnboundedLoopsAreTooExpensive) {
  World world(R"j({"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"},
      "x-kubernetes-validations":[{"rule":"self.all(x, x.contains('gpu'))"}]
}
}
})j");
  constexpr const char* kAdvice =
      " exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, "
      "maxProperties, and maxLength where arrays, maps, and strings are declared)";
  const std::string path = "s.properties[spec].properties[tags].x-kubernetes-validations[0].rule: ";
  EXPECT_THAT(world.check(),
              ElementsAre(path + "Forbidden: estimated rule cost" + kAdvice,
                          path + "Forbidden: contributed to estimated rule cost total exceeding "
                                 "cost limit for entire OpenAPIv3 schema",
                          std::string("s: Forbidden: x-kubernetes-validations estimated rule cost "
                                      "total for entire OpenAPIv3 schema") +
                              kAdvice));
}

TEST(SchemaRulesCheck, BoundsMakeLoopsCheap) {
  World world(R"j({"type":"object","properties":{"tags":{"type":"array","maxItems":1000,
      "items":{"type":"string","maxLength":63},
      "x-kubernetes-validations":[{"rule":"self.all(x, x.contains('gpu'))"}]
}
}
})j");
  EXPECT_THAT(world.check(), IsEmpty());
}

}  // namespace
}  // namespace athanor::cel::schema_rules_test
