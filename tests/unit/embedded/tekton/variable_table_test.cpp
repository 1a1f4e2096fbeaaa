// SPDX-License-Identifier: Apache-2.0
// docs/tekton-variables.md is the table of the variables that Tekton documents and of the fields
// that take them: each variable is put into each field, as it is and through a param.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "base/files/text_file.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "embedded/tekton/validation/validation.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "support/source_dir/source_dir.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::variable_table_test {
namespace {

struct Row {
  std::string first{}, second{}, third{};
};

// One part of the page: its example, its variables, the tables of fields behind them.
struct Part {
  Value example{};
  std::vector<Row> variables{};
  std::vector<std::vector<Row>> fields{};
};

std::string trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' '; };
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

std::string unquoted(std::string text) {
  std::erase(text, '`');
  return text;
}

Row row_of(std::string_view line) {
  std::vector<std::string> cells;
  line = line.substr(1, line.rfind('|') - 1);
  while (true) {
    const std::size_t end = line.find('|');
    cells.push_back(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) {
      break;
    }
    line.remove_prefix(end + 1);
  }
  cells.resize(3);
  return {unquoted(cells[0]), unquoted(cells[1]), unquoted(cells[2])};
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<Part> parts_of(std::string_view page) {
  std::vector<Part> parts;
  std::string yaml;
  bool in_yaml = false;
  std::vector<Row>* table = nullptr;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("## ")) {
      parts.emplace_back();
    } else if (line == "```yaml") {
      in_yaml = true;
    } else if (line == "```") {
      in_yaml = false;
      parts.back().example = yaml::parse(std::exchange(yaml, {})).value();
    } else if (in_yaml) {
      yaml += line + "\n";
    } else if (line.starts_with("| Variable")) {
      table = &parts.back().variables;
    } else if (line.starts_with("| Field")) {
      table = &parts.back().fields.emplace_back();
    } else if (line.starts_with("| `")) {
      table->push_back(row_of(line));
    }
  }
  return parts;
}

const Part& part(std::size_t index) {
  static const std::vector<Part> kParts = parts_of(
      read_text_file(std::string(test::source_dir()) + "/docs/tekton-variables.md").value());
  return kParts.at(index);
}

// Writes `value` to "a.b[].c": "[]" is the first item of a list, made where it is absent.
void set_at(Value& holder, std::string_view path, const Value& value) {
  const std::size_t end = std::min(path.find_first_of(".["), path.size());
  const std::string name(path.substr(0, end));
  std::string_view rest = path.substr(end);
  const bool item = rest.starts_with("[]");
  rest = item ? rest.substr(2) : rest;
  rest = rest.starts_with('.') ? rest.substr(1) : rest;
  if (rest.empty()) {
    holder.set(name, item ? (value.is_list() ? value : Value::list({value})) : value);
    return;
  }
  if (item) {
    if (holder[name].empty()) {
      holder.set(name, Value::list({Value::object({{"name", "made"}})}));
    }
    set_at(holder.member(name).item(0), rest, value);
    return;
  }
  if (!holder[name].is_object()) {
    holder.set(name, Value::object());
  }
  set_at(holder.member(name), rest, value);
}

bool is_list(const Row& variable) {
  return variable.second.starts_with('[');
}

Value value_of(const Row& variable) {
  return is_list(variable) ? json::parse(variable.second).value() : Value(variable.second);
}

std::string in_brackets(const Row& variable) {
  return "$(" + variable.first + ")";
}

bool takes(const Row& field, const Row& variable) {
  return is_list(variable) ? !field.second.empty() : field.second != "only";
}

bool is_replaced(const Row& variable, std::string_view state = "replaced") {
  return variable.third == state;
}

void put(Lab& lab, const Value& object) {
  lab.put(json::print(object));
}

std::string pod_of(const Value& task_run) {
  Lab lab;
  put(lab, task_run);
  lab.settle();
  if (!lab.has_pod("tr-pod")) {
    return Lab::outcome(lab.task_run("tr"));
  }
  const Object pod = lab.pod("tr-pod");
  return json::print(pod.spec()) + std::string(pod.annotation("athanor.dev/steps"));
}

// The pod of the example with this value in a field, and `via` as the value of a param.
std::string pod_with(const Row& field, const Value& value, std::string_view via) {
  Value run = part(0).example;
  run.member("spec").member("params").push_back(Value::object({{"name", "via"}, {"value", via}}));
  run.member("spec")
      .member("taskSpec")
      .member("params")
      .push_back(Value::object({{"name", "via"}}));
  set_at(run, field.first, value);
  return pod_of(run);
}

// All texts among the variables in one text, as they are written and as they shall be.
struct Texts {
  std::string written{}, plain{};
  std::vector<Row> variables{};
};

bool is_param(const Row& variable) {
  return variable.first.find("params") != std::string::npos;
}

void add(Texts& texts, const Row& variable) {
  texts.written += in_brackets(variable) + "|";
  texts.plain += variable.second + "|";
  texts.variables.push_back(variable);
}

template <class Choose>
Texts texts_of(const Part& of, Choose choose) {
  Texts texts;
  for (const Row& variable : of.variables) {
    if (!is_list(variable) && choose(variable)) {
      add(texts, variable);
    }
  }
  return texts;
}

void expect_equal(const std::string& written, const std::string& plain, const Row& field,
                  const std::vector<Row>& variables) {
  EXPECT_EQ(written, plain) << field.first;
  for (const Row& variable : variables) {
    EXPECT_EQ(written.find(in_brackets(variable)), std::string::npos)
        << variable.first << " in " << field.first;
  }
}

// Calls with each way to fill a field: all texts at once, and each list that it takes.
template <class Fill, class Choose>
void fill(const Part& of, const Row& field, Choose choose, Fill fill_with) {
  if (field.second != "only") {
    const Texts texts = texts_of(of, choose);
    ASSERT_FALSE(texts.variables.empty());
    fill_with(texts.written, Value(texts.plain), texts.variables);
  }
  for (const Row& variable : of.variables) {
    if (is_list(variable) && choose(variable) && takes(field, variable)) {
      fill_with(in_brackets(variable), value_of(variable), std::vector<Row>{variable});
    }
  }
}

TEST(VariableTable, HoldsVariablesAndFieldsOfBothKinds) {
  EXPECT_GE(part(0).variables.size(), 30U);
  ASSERT_EQ(part(0).fields.size(), 2U);
  EXPECT_GE(part(0).fields[0].size(), 77U);
  EXPECT_GE(part(1).variables.size(), 25U);
  ASSERT_EQ(part(1).fields.size(), 1U);
  EXPECT_GE(part(1).fields[0].size(), 30U);
}

TEST(VariableTable, TaskVariablesReachEveryField) {
  const auto replaced = [](const Row& variable) { return is_replaced(variable); };
  for (const Row& field : part(0).fields[0]) {
    fill(part(0), field, replaced,
         [&](const std::string& written, const Value& plain, const std::vector<Row>& variables) {
           expect_equal(pod_with(field, written, ""), pod_with(field, plain, ""), field, variables);
         });
  }
}

TEST(VariableTable, TaskVariablesReachEveryFieldThroughParams) {
  const Texts texts = texts_of(
      part(0), [](const Row& variable) { return is_replaced(variable) && !is_param(variable); });
  for (const Row& field : part(0).fields[0]) {
    EXPECT_EQ(pod_with(field, "$(params.via)", texts.written),
              pod_with(field, texts.plain, texts.written))
        << field.first;
  }
}

// A row whose field never reaches the pod would prove nothing.
TEST(VariableTable, ReachesPodWithEachField) {
  for (const Row& field : part(0).fields[0]) {
    EXPECT_NE(pod_with(field, "stopAndFail", ""), pod_with(field, "continue", "")) << field.first;
  }
}

TEST(VariableTable, ReplacesStepVariablesThroughParams) {
  int tried = 0;
  for (const Row& field : part(0).fields[0]) {
    if (field.first.find(".steps[].") != std::string::npos && !field.first.ends_with("[].name")) {
      EXPECT_EQ(pod_with(field, "$(params.via)", "$(step.results.own.path)"),
                pod_with(field, "/tekton/steps/step-use/results/own", "$(step.results.own.path)"))
          << field.first;
      ++tried;
    }
  }
  EXPECT_GE(tried, 15);
}

TEST(VariableTable, StepVariablesReachFieldsOfTheirStep) {
  const Texts texts = texts_of(part(0), [](const Row& variable) {
    return is_replaced(variable, "replaced in the step that declares it");
  });
  for (const Row& field : part(0).fields[0]) {
    // The name of a step is part of the path.
    if (field.first.find(".steps[].") != std::string::npos && !field.first.ends_with("[].name")) {
      expect_equal(pod_with(field, texts.written, ""), pod_with(field, texts.plain, ""), field,
                   texts.variables);
    }
  }
}

// The pod of a step that is a StepAction with this value in a field; its param has the value `via`.
std::string action_pod(const Row& field, const Value& value, const Value& via) {
  Value action = yaml::parse(R"y(
apiVersion: tekton.dev/v1beta1
kind: StepAction
metadata: {name: act}
spec: {image: i, env: [{name: E}], volumeMounts: [{name: data, mountPath: /data}], params: [{name: own}]}
)y")
                     .value();
  action.member("spec").member("params").item(0).set("type", via.is_list() ? "array" : "string");
  set_at(action, field.first, value);
  Value run = part(0).example;
  run.member("spec").member("taskSpec").member("steps").item(0) =
      Value::object({{"name", "use"},
                     {"ref", Value::object({{"name", "act"}})},
                     {"params", Value::list({Value::object({{"name", "own"}, {"value", via}})})}});
  Lab lab;
  put(lab, action);
  put(lab, run);
  lab.settle();
  return lab.has_pod("tr-pod") ? json::print(lab.pod("tr-pod").spec()) +
                                     std::string(lab.pod("tr-pod").annotation("athanor.dev/steps"))
                               : Lab::outcome(lab.task_run("tr"));
}

TEST(VariableTable, ParamsOfStepActionsHoldTaskVariables) {
  const auto replaced = [](const Row& variable) { return is_replaced(variable); };
  for (const Row& field : part(0).fields[1]) {
    fill(part(0), field, replaced,
         [&](const std::string& written, const Value& plain, const std::vector<Row>& variables) {
           const Value whole = plain.is_list() ? "$(params.own[*])" : "$(params.own)";
           const Value via = plain.is_list() ? Value::list({written}) : Value(written);
           expect_equal(action_pod(field, whole, via), action_pod(field, plain, plain), field,
                        variables);
         });
  }
}

TEST(VariableTable, RefusesVariablesOfFeaturesThatAreOff) {
  int refused = 0;
  for (const std::size_t index : {0U, 1U}) {
    for (const Row& variable : part(index).variables) {
      if (!variable.third.starts_with("refused: ")) {
        continue;
      }
      Value spec = part(index).example["spec"];
      set_at(spec, index == 0 ? "taskSpec.steps[].script" : "pipelineSpec.tasks[].params[].value",
             in_brackets(variable));
      const FieldErrors errors =
          index == 0 ? validate_task_spec(spec["taskSpec"], Place::Inline, Settings{})
                     : validate_pipeline_spec(spec["pipelineSpec"], Place::Inline, Settings{});
      EXPECT_NE(errors.text().find(variable.third.substr(9)), std::string::npos)
          << variable.first << ": " << errors.text();
      ++refused;
    }
  }
  EXPECT_GE(refused, 6);
}

TEST(VariableTable, LeavesResultsOfStepsToTheNode) {
  int left = 0;
  for (const Row& variable : part(0).variables) {
    if (variable.third.starts_with("replaced when the step starts")) {
      const Row field{.first = "spec.taskSpec.steps[].args[]"};
      EXPECT_NE(pod_with(field, in_brackets(variable), "").find(in_brackets(variable)),
                std::string::npos);
      ++left;
    }
  }
  EXPECT_GE(left, 2);
}

TEST(VariableTable, LeavesUnknownVariablesAsTheyAre) {
  const Row field{.first = "spec.taskSpec.steps[].args[]"};
  EXPECT_NE(pod_with(field, "$(results.other)", "").find("$(results.other)"), std::string::npos);
}

enum class Where : std::uint8_t { Tasks, Finally };

// What becomes of task "use" of the example with this value in a field.
std::string task_run_with(const Row& field, const Value& value, std::string_view via, Where where) {
  Value run = part(1).example;
  run.member("spec")
      .member("pipelineSpec")
      .member("params")
      .push_back(Value::object({{"name", "via"}, {"default", via}}));
  set_at(run, field.first, value);
  if (where == Where::Finally) {
    Value& pipeline = run.member("spec").member("pipelineSpec");
    Value use = pipeline["tasks"][0];
    use.erase("runAfter");
    pipeline.set("finally", Value::list({use}));
    pipeline.set("tasks", Value::list({pipeline["tasks"][1], pipeline["tasks"][2]}));
  }
  Lab lab;
  lab.ends = [](std::string_view task_run, std::string_view) {
    return Lab::End{
        .message = task_run == "run-first"
                       ? results_message(
                             {{"one", "x"}, {"list", R"(["p","q"])"}, {"map", R"({"key":"deep"})"}})
                       : results_message({{"out", "done"}})};
  };
  lab.put(
      "{apiVersion: tekton.dev/v1, kind: Task, metadata: {name: work}, spec: {workspaces: [{name: "
      "w}], steps: [{image: i}]}}");
  put(lab, run);
  lab.play();
  std::string text = Lab::outcome(lab.run());
  for (const Object& task_run : lab.world.list(api::kTaskRun)) {
    if (task_run.label(kPipelineTaskLabel) == "use") {
      text += "\n" + json::print(task_run.spec());
    }
  }
  for (const Value& reference : lab.run().status()["childReferences"].items()) {
    if (reference["pipelineTaskName"].as_string() == "use") {
      text += "\n" + json::print(reference);
    }
  }
  return text;
}

void check_pipeline_variables(Where where) {
  const auto used = [where](const Row& variable) {
    return is_replaced(variable) ||
           (where == Where::Finally && is_replaced(variable, "replaced in finally"));
  };
  for (const Row& field : part(1).fields[0]) {
    fill(part(1), field, used,
         [&](const std::string& written, const Value& value, const std::vector<Row>& variables) {
           const std::string plain = task_run_with(field, value, "", where);
           expect_equal(task_run_with(field, written, "", where), plain, field, variables);
           EXPECT_NE(plain.find("\n{"), std::string::npos) << field.first << ": " << plain;
         });
  }
}

TEST(VariableTable, PipelineVariablesReachEveryField) {
  check_pipeline_variables(Where::Tasks);
}

TEST(VariableTable, PipelineVariablesReachFinalTasks) {
  check_pipeline_variables(Where::Finally);
}

TEST(VariableTable, PipelineVariablesReachEveryFieldThroughDefaults) {
  const Texts texts = texts_of(
      part(1), [](const Row& variable) { return is_replaced(variable) && !is_param(variable); });
  for (const Row& field : part(1).fields[0]) {
    if (field.second != "only") {
      EXPECT_EQ(task_run_with(field, "$(params.via)", texts.written, Where::Tasks),
                task_run_with(field, texts.plain, texts.written, Where::Tasks))
          << field.first;
    }
  }
}

TEST(VariableTable, PipelineVariablesReachNamesOfTasks) {
  const auto used = [](const Row& variable) { return is_replaced(variable); };
  const Row field{.first = "spec.pipelineSpec.tasks[].taskRef"};
  const auto named_task = [](const Value& name) { return Value::object({{"name", name}}); };
  const Texts texts = texts_of(part(1), used);
  // Results are known when the task's turn comes: its TaskRun has the name.
  EXPECT_NE(task_run_with(field, named_task(texts.written), "", Where::Tasks)
                .find(json::print(Value::object({{"name", texts.plain}, {"kind", "Task"}}))),
            std::string::npos);
  EXPECT_EQ(task_run_with(field, named_task("$(params.via)"), "work", Where::Tasks),
            task_run_with(field, named_task("work"), "work", Where::Tasks));
}

// A run whose only task fails, with this onError.
std::string run_that_fails(std::string_view on_error, std::string_view value) {
  Lab lab;
  lab.ends = [](std::string_view, std::string_view) { return Lab::End{.exit_code = 1}; };
  lab.put(fmt::format(R"y(
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {{name: run}}
spec:
  params: [{{name: how, value: "{1}"}}]
  pipelineSpec:
    params: [{{name: how}}]
    tasks: [{{name: a, onError: "{0}", taskSpec: {{steps: [{{image: i}}]}}}}]
)y",
                      on_error, value));
  lab.play();
  return Lab::outcome(lab.run());
}

TEST(VariableTable, ParamsGiveOnErrorOfTasks) {
  for (const std::string_view how : {"$(params.how)", "$(params['how'])"}) {
    EXPECT_EQ(run_that_fails(how, "continue"), run_that_fails("continue", "none"));
    EXPECT_EQ(run_that_fails(how, "stopAndFail"), run_that_fails("stopAndFail", "none"));
    EXPECT_EQ(
        run_that_fails(how, "whatever"),
        "False/PipelineValidationFailed: [User error] Pipeline ns/run can't be Run; it has an "
        "invalid spec: invalid value: whatever: tasks[0].OnError\nPipelineTask OnError must "
        "be either \"continue\" or \"stopAndFail\"");
  }
}

TEST(VariableTable, RefusesUnknownOnErrorOfStep) {
  const Row field{.first = "spec.taskSpec.steps[].onError"};
  EXPECT_EQ(pod_with(field, "$(params.via)", "whatever"),
            "False/TaskRunValidationFailed: [User error] invalid value: \"whatever\": "
            "steps[0].onError\nTask step onError must be either \"continue\" or \"stopAndFail\"");
}

}  // namespace
}  // namespace athanor::tekton::variable_table_test
