// SPDX-License-Identifier: Apache-2.0
// Commands, environment and mounts of every container.
#include "embedded/nodes/sandbox_spec.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "base/time.hpp"
#include "embedded/nodes/image_entrypoints.hpp"
#include "embedded/nodes/pod_address.hpp"
#include "embedded/nodes/sandbox_volumes.hpp"
#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::nodes {
namespace {

constexpr std::int64_t kDefaultGraceSeconds = 30;

// "limits.memory" in units of the divisor (1 without one), rounded up.
std::string resource_of(const Value& container, const Value& reference) {
  const std::string_view path = reference["resource"].as_string();
  const std::size_t dot = std::min(path.find('.'), path.size());
  const std::string_view list = path.substr(0, dot);
  const std::string_view name = path.substr(std::min(dot + 1, path.size()));
  const auto amount = Quantity::parse(container["resources"][list][name]);
  if (!amount) {
    return "0";
  }
  const auto divisor = Quantity::parse(reference["divisor"]);
  const std::int64_t unit = divisor && !divisor->is_zero() ? divisor->milli_value() : 1000;
  const std::int64_t milli = amount->milli_value();
  return fmt::format("{}", milli / unit + (milli % unit != 0 ? 1 : 0));
}

class EnvironmentBuilder {
 public:
  EnvironmentBuilder(const View& view, const Object& pod) : view_(view), pod_(pod) {}

  // The problem, or empty.
  std::string build(const Value& container) {
    for (const Value& source : container["envFrom"].items()) {
      if (std::string problem = add_source(source); !problem.empty()) {
        return problem;
      }
    }
    for (const Value& variable : container["env"].items()) {
      if (std::string problem = add_variable(variable, container); !problem.empty()) {
        return problem;
      }
    }
    return {};
  }
  // "$(NAME)" of variables set so far; "$$(NAME)" stays as "$(NAME)".
  [[nodiscard]] std::string expand(std::string_view text) const {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '$' || i + 1 == text.size()) {
        out += text[i];
        continue;
      }
      if (text[i + 1] == '$') {
        out += '$';
        ++i;
        continue;
      }
      const std::size_t close = text[i + 1] == '(' ? text.find(')', i) : std::string_view::npos;
      const auto known = close == std::string_view::npos
                             ? values_.end()
                             : values_.find(text.substr(i + 2, close - i - 2));
      if (known == values_.end()) {
        out += text[i];
        continue;
      }
      out += known->second;
      i = close;
    }
    return out;
  }
  [[nodiscard]] Value list() const {
    Value result = Value::list();
    for (const std::string& name : order_) {
      result.push_back(Value::list({name, values_.find(name)->second}));
    }
    return result;
  }
  void set(const std::string& name, std::string value) {
    if (values_.insert_or_assign(name, std::move(value)).second) {
      order_.push_back(name);
    }
  }

 private:
  std::string add_source(const Value& source) {
    const bool secret = source.contains("secretRef");
    const Value& ref = source[secret ? "secretRef" : "configMapRef"];
    const Kind& kind = secret ? api::kSecret : api::kConfigMap;
    const auto object = view_.get(kind, {std::string(pod_.ns()), ref["name"].str()});
    if (!object) {
      return ref["optional"].as_bool()
                 ? ""
                 : fmt::format("{} \"{}\" not found", secret ? "secret" : "configmap",
                               ref["name"].as_string());
    }
    for (const Member& entry : object->body()["data"].members()) {
      set(source["prefix"].str() + std::string(entry.key()), text_of(entry.value, secret));
    }
    return {};
  }

  std::string add_variable(const Value& variable, const Value& container) {
    const std::string name = variable["name"].str();
    const Value& from = variable["valueFrom"];
    if (from.is_null()) {
      set(name, expand(variable["value"].as_string()));
      return {};
    }
    if (from.contains("fieldRef")) {
      const auto field =
          pod_field(pod_, pod_address(view_, pod_), from["fieldRef"]["fieldPath"].as_string());
      set(name, field.value_or(""));
      return {};
    }
    if (from.contains("resourceFieldRef")) {
      set(name, resource_of(container, from["resourceFieldRef"]));
      return {};
    }
    const bool secret = from.contains("secretKeyRef");
    const Value& ref = from[secret ? "secretKeyRef" : "configMapKeyRef"];
    const auto object = view_.get(secret ? api::kSecret : api::kConfigMap,
                                  {std::string(pod_.ns()), ref["name"].str()});
    if (!object) {
      return ref["optional"].as_bool()
                 ? ""
                 : fmt::format("{} \"{}\" not found", secret ? "secret" : "configmap",
                               ref["name"].as_string());
    }
    const Value* value = object->body()["data"].find(ref["key"].as_string());
    if (value == nullptr) {
      return ref["optional"].as_bool()
                 ? ""
                 : fmt::format("couldn't find key {} in {} {}/{}", ref["key"].as_string(),
                               secret ? "Secret" : "ConfigMap", pod_.ns(), ref["name"].as_string());
    }
    set(name, text_of(*value, secret));
    return {};
  }

  static std::string text_of(const Value& value, bool base64) {
    return base64 ? base64_decode(value.as_string()).value_or("") : value.str();
  }

  const View& view_;
  const Object& pod_;
  std::map<std::string, std::string, std::less<>> values_{};
  std::vector<std::string> order_{};
};

// What is wrong with the mounts' paths below their volumes, as a kubelet says it; empty: nothing.
std::string path_problem(const Value& mounts) {
  for (const Value& mount : mounts.items()) {
    const std::string path = mount["subPath"].str();
    if (path.starts_with('/')) {
      return fmt::format("error SubPath `{}` must not be an absolute path", path);
    }
    if (("/" + path + "/").find("/../") != std::string::npos) {
      return fmt::format("unable to provision SubPath `{}`: must not contain '..'", path);
    }
  }
  return {};
}

Value mounts_of(const Value& container, const EnvironmentBuilder& environment) {
  Value mounts = Value::list();
  for (const Value& mount : container["volumeMounts"].items()) {
    const Value& expression = mount["subPathExpr"];
    mounts.push_back(Value::object(
        {{"volume", mount["name"]},
         {"path", mount["mountPath"]},
         {"subPath", expression.is_string() ? environment.expand(expression.as_string())
                                            : mount["subPath"].str()},
         {"readOnly", mount["readOnly"].as_bool()}}));
  }
  return mounts;
}

// A script takes the place of the command and gets the arguments; without either, the image's own
// entrypoint does. `problem`: what keeps a process from running it.
Value command_of(const View& view, const Value& container, const Value& step,
                 std::string& problem) {
  if (step.contains("script")) {
    return container["args"].is_list() ? container["args"] : Value::list();
  }
  if (container["command"].empty()) {
    const std::string_view image = container["image"].as_string();
    const Value& own = view.config("tekton")["run"]["imageEntrypoints"];
    if (auto known = image_command(image, container["args"], own)) {
      return *std::move(known);
    }
    if (container["stdin"].as_bool()) {
      return Value::list({"/bin/sh"});  // a terminal is attached to type commands
    }
    problem = fmt::format(
        "image \"{}\" is not run here, and its entrypoint is not known: give the container a "
        "command, or name the entrypoint in TEKTON_IMAGE_ENTRYPOINTS",
        image);
    return Value::list();
  }
  Value command = container["command"];
  for (const Value& arg : container["args"].items()) {
    command.push_back(arg);
  }
  return command;
}

// One container; `step` is its entry of the steps annotation, Null without one.
std::string add_container(const View& view, const Object& pod, const Value& container,
                          const Value& step, Value& list) {
  if (container["securityContext"]["privileged"].as_bool()) {
    return "privileged containers are not run on emulated nodes";
  }
  EnvironmentBuilder environment(view, pod);
  const Value& settings = view.config("kubelet");
  for (const Member& variable : settings["environment"].members()) {
    environment.set(std::string(variable.key()), variable.value.str());
  }
  if (std::string missing = environment.build(container); !missing.empty()) {
    return missing;
  }
  std::string problem;
  Value command = command_of(view, container, step, problem);
  for (std::size_t i = 0; i < command.size(); ++i) {
    command.item(i) = environment.expand(command[i].as_string());
  }
  Value mounts = mounts_of(container, environment);
  if (std::string wrong = path_problem(mounts); !wrong.empty()) {
    return wrong;
  }
  Value result = Value::object({{"name", container["name"]},
                                {"command", command},
                                {"env", environment.list()},
                                {"workingDir", container["workingDir"].str()},
                                {"mounts", std::move(mounts)},
                                {"messagePath", container["terminationMessagePath"].str()}});
  if (container["terminationMessagePolicy"].as_string() == "FallbackToLogsOnError") {
    result.set("logsOnError", true);
  }
  if (!problem.empty()) {
    result.set("problem", problem);
  }
  for (const char* key : {"stdin", "stdinOnce", "tty"}) {
    if (container[key].as_bool()) {
      result.set(key, true);
    }
  }
  for (const char* key : {"script", "results", "stepResults", "onError", "when", "stdout", "stderr",
                          "sidecar", "restartPolicy"}) {
    if (step.contains(key)) {
      result.set(key, step[key]);
    }
  }
  if (const auto timeout = parse_go_duration(step["timeout"].as_string());
      timeout.ok() && timeout->count() > 0) {
    result.set("timeoutMs",
               std::chrono::duration_cast<std::chrono::milliseconds>(*timeout).count());
  }
  list.push_back(std::move(result));
  return {};
}

// What the `timed` runtime gets (docs/spec/tekton.md section 12).
Value simulation_of(const Object& pod) {
  const auto parsed = json::parse(pod.annotation(kSimulateAnnotation));
  return parsed.ok() && parsed->is_object() ? *parsed : Value::object();
}

Value step_of(const Value& steps, std::string_view container) {
  for (const Value& step : steps.items()) {
    if (step["container"].as_string() == container) {
      return step;
    }
  }
  return {};
}

// The pod with containers that wait and volumes that are empty: its author does the work.
Object idle(const Object& pod) {
  Value body = pod.body();
  Value& spec = body.member("spec");
  for (const char* list : {"initContainers", "containers"}) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      Value& container = spec.member(list).item(i);
      container.set("command", Value::list({"/bin/sleep", "infinity"}));
      for (const char* member : {"args", "env", "envFrom", "volumeMounts"}) {
        container.erase(member);
      }
    }
  }
  spec.erase("volumes");
  return Object(std::move(body));
}

}  // namespace

SandboxSpec make_sandbox_spec(const View& view, const Object& original) {
  const Object pod = original.annotation(kEmulateAnnotation) == "pause" ? idle(original) : original;
  SandboxSpec spec;
  std::vector<std::string> problems;
  Value volumes = sandbox_volumes(view, pod, problems);
  if (!problems.empty()) {
    spec.waiting_reason = "ContainerCreating";
    spec.waiting_message = problems.front();
    return spec;
  }
  const auto parsed = json::parse(pod.annotation(kStepsAnnotation));
  const Value steps = parsed.ok() ? *parsed : Value();
  Value init = Value::list();
  Value containers = Value::list();
  Value ephemeral = Value::list();
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Value& container : pod.spec()[list].items()) {
      Value& target = list == std::string_view("containers")       ? containers
                      : list == std::string_view("initContainers") ? init
                                                                   : ephemeral;
      Value step = step_of(steps, container["name"].as_string());
      if (step.is_null() && steps.is_list() && &target == &containers) {
        // A webhook added it: it runs beside the steps.
        step = Value::object({{"sidecar", true}});
      }
      if (std::string problem = add_container(view, pod, container, step, target);
          !problem.empty()) {
        spec.waiting_reason = "CreateContainerConfigError";
        spec.waiting_message = std::move(problem);
        spec.failing_container = container["name"].str();
        return spec;
      }
    }
  }
  spec.value = Value::object(
      {{"uid", pod.uid()},
       {"ns", pod.ns()},
       {"name", pod.name()},
       {"hostname", pod.spec()["hostname"].str()},
       {"task", pod.label(kPipelineTaskLabel)},
       {"simulate", simulation_of(pod)},
       {"restartPolicy", pod.spec()["restartPolicy"].str()},
       {"grace", pod.spec()["terminationGracePeriodSeconds"].as_int(kDefaultGraceSeconds)},
       {"sequential", steps.is_list()},
       {"init", init},
       {"containers", containers},
       {"volumes", volumes}});
  if (!ephemeral.empty()) {
    spec.value.set("ephemeral", std::move(ephemeral));
  }
  return spec;
}

}  // namespace athanor::nodes
