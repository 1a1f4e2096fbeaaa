// SPDX-License-Identifier: Apache-2.0
#include "console/routes/schedule_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "api/builtin.hpp"
#include "base/files/time_zone_files.hpp"
#include "console/data/schedule_rows.hpp"
#include "console/routes/job_changes.hpp"
#include "kube/names/names.hpp"
#include "kube/text/cron.hpp"
#include "kube/text/json.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"

namespace athanor::console {
namespace {

constexpr std::size_t kMostScheduleName = 52;  // of a CronJob
constexpr std::string_view kJobVariable = "FJOB_JSON";
constexpr std::string_view kDefaultOwner = "fournos-dashboard/scheduler";
constexpr std::string_view kDefaultPipeline = "forge-test-only";
constexpr std::string_view kDefaultFile = "resolver.py";
constexpr std::string_view kPythonImage = "registry.access.redhat.com/ubi9/python-312";
constexpr std::array<std::string_view, 3> kOverlaps{"Allow", "Forbid", "Replace"};

// For an image that the form names, which has Python but no Athanor.
constexpr std::string_view kSubmitScript = R"(import json, os, ssl, urllib.request
job = json.loads(os.environ["FJOB_JSON"])
trigger = os.environ.get("FOURNOS_TRIGGER_TYPE")
if trigger:
    job["metadata"]["labels"]["fournos-launcher/trigger-type"] = trigger
path = "/shared/resolved.env"
if os.path.exists(path):
    overrides = job["spec"]["executionEngine"]["forge"].setdefault("configOverrides", {})
    for line in open(path):
        line = line.strip()
        if line and not line.startswith("#") and "=" in line:
            key, value = line.split("=", 1)
            overrides[key.strip()] = value.strip()
account = "/var/run/secrets/kubernetes.io/serviceaccount/"
host = "https://%s:%s" % (os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"])
url = "%s/apis/fournos.dev/v1/namespaces/%s/fournosjobs" % (host, job["metadata"]["namespace"])
request = urllib.request.Request(url, json.dumps(job).encode(), {"Content-Type": "application/json",
    "Authorization": "Bearer " + open(account + "token").read().strip()})
context = ssl.create_default_context(cafile=account + "ca.crt")
print(urllib.request.urlopen(request, context=context).read().decode())
)";

std::string without_returns(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') {
      out += text[i];
    }
  }
  return out;
}

FormError wrong_field(std::string_view field, std::string_view message) {
  return {.error = Error::invalid(field, message), .field = std::string(field)};
}

// Prefix of the names of a project's jobs.
std::string name_prefix(std::string project) {
  std::ranges::replace(project, '_', '-');
  return fmt::format("forge-{}-sched-", project);
}

// The job that the schedule submits.
Value scheduled_job(const FormFields& form, const std::string& ns, const Value& job) {
  Value spec = job["spec"];
  spec.set("owner", form_field(form, "owner", kDefaultOwner));
  spec.set("exclusive", true);
  Value labels = Value::object();
  labels.set(kScheduleName, form_field(form, "name"));
  labels.set("fournos-launcher/trigger-type", "scheduled");
  return Value::object(
      {{"apiVersion", api::kFournosJob.api_version()},
       {"kind", api::kFournosJob.name},
       {"metadata", Value::object({{"generateName", name_prefix(form_field(form, "project"))},
                                   {"namespace", ns},
                                   {"labels", std::move(labels)}})},
       {"spec", std::move(spec)}});
}

Value shared_mount() {
  return Value::object({{"name", "shared"}, {"mountPath", "/shared"}});
}

// Replaces the item that has the name of `item`, or adds it.
void put_item(Value& list, Value item) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list.item(i)["name"] == item["name"]) {
      list.item(i) = std::move(item);
      return;
    }
  }
  list.push_back(std::move(item));
}

void drop_item(Value& owner, std::string_view list, std::string_view name) {
  Value kept = Value::list();
  for (const Value& one : owner[list].items()) {
    if (one["name"].as_string() != name) {
      kept.push_back(one);
    }
  }
  if (kept.empty()) {
    owner.erase(list);
  } else {
    owner.set(list, std::move(kept));
  }
}

// Sets the init container that computes values before each run.
void set_resolver(Value& pod, const FormFields& form) {
  const std::string file = form_field(form, "resolver_filename", kDefaultFile);
  const std::string map = form_field(form, "name") + "-resolver";
  const std::string interpreter = file.ends_with(".py") ? "python3" : "sh";
  const Value script_mount = Value::object({{"name", "resolver"}, {"mountPath", "/resolver"}});
  put_item(pod.member("initContainers"),
           Value::object({{"name", "resolver"},
                          {"image", form_field(form, "resolver_image", kPythonImage)},
                          {"command", Value::list({interpreter, "/resolver/" + file})},
                          {"volumeMounts", Value::list({script_mount, shared_mount()})}}));
  put_item(pod.member("volumes"),
           Value::object({{"name", "resolver"}, {"configMap", Value::object({{"name", map}})}}));
  put_item(pod.member("volumes"),
           Value::object({{"name", "shared"}, {"emptyDir", Value::object()}}));
}

void drop_resolver(Value& pod) {
  drop_item(pod, "initContainers", "resolver");
  drop_item(pod, "volumes", "resolver");
}

// Returns the specification of the pod that a CronJob starts.
Value& pod_of_schedule(Value& schedule) {
  return schedule.member("spec")
      .member("jobTemplate")
      .member("spec")
      .member("template")
      .member("spec");
}

// Sets the image of the container that submits: Athanor's own, or one with Python, which runs a
// script. The rest of the container stays.
void set_image(Value& container, const std::string& image, const Submitter& submitter) {
  container.set("image", image);
  if (image == submitter.image || fournos::is_submit_image(image)) {
    Value arguments = Value::list();
    for (const std::string& word : fournos::submit_arguments()) {
      arguments.push_back(word);
    }
    container.set("args", std::move(arguments));
    container.erase("command");
  } else {
    container.set("command", Value::list({"python3", "-c", kSubmitScript}));
    container.erase("args");
  }
}

// Fields of the form that are annotations, too, with their defaults.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNoted{
    {{"project", ""},
     {"cluster", ""},
     {"pipeline", kDefaultPipeline},
     {"preset", ""},
     {"owner", kDefaultOwner}}};

// Sets the annotations from which the form is filled again, those of fields that the form has.
void note_fields(Value& metadata, const FormFields& form) {
  const auto note = [&](std::string_view what, const std::string& text) {
    const std::string key = std::string(kLauncher) + std::string(what);
    if (text.empty()) {
      metadata.erase_path({"annotations", key});
    } else {
      metadata.set_path({"annotations", key}, text);
    }
  };
  for (const auto& [field, fallback] : kNoted) {
    if (form.contains(field)) {
      note(field, form_field(form, field, fallback));
    }
  }
  if (form.contains("project")) {
    metadata.set_path({"labels", "fournos-launcher/project"},
                      fournos::project_label(form_field(form, "project")));
  }
  if (!form.contains("resolver_script")) {
    return;
  }
  const bool any = has_resolver(form);
  note("resolver-configmap", any ? form_field(form, "name") + "-resolver" : "");
  note("resolver-filename", any ? form_field(form, "resolver_filename", kDefaultFile) : "");
  note("resolver-image", any ? form_field(form, "resolver_image") : "");
}

// Sets what the form has of the CronJob's own fields.
void set_timing(Value& spec, const FormFields& form) {
  if (form.contains("cron_expr")) {
    spec.set("schedule", form_field(form, "cron_expr"));
  }
  for (const auto& [field, member] :
       {std::pair{"timeZone", "timeZone"}, std::pair{"overlap", "concurrencyPolicy"}}) {
    if (const std::string text = form_field(form, field); !text.empty()) {
      spec.set(member, text);
    } else if (form.contains(field)) {
      spec.erase(member);
    }
  }
}

std::optional<FormError> wrong_fields(const FormFields& form) {
  const std::string name = form_field(form, "name");
  if (const auto wrong = validate_dns1123_subdomain(name);
      wrong || name.size() > kMostScheduleName || name.find('.') != std::string::npos) {
    return wrong_field(
        "name", fmt::format("must be a DNS label of at most {} characters", kMostScheduleName));
  }
  if (form.contains("cron_expr")) {
    const auto cron = CronSchedule::parse(form_field(form, "cron_expr"));
    if (!cron.ok()) {
      return wrong_field("cron_expr", cron.error().message);
    }
  }
  if (const std::string overlap = form_field(form, "overlap");
      !overlap.empty() && std::ranges::find(kOverlaps, overlap) == kOverlaps.end()) {
    return wrong_field("overlap", "must be Allow, Forbid or Replace");
  }
  if (const std::string zone = form_field(form, "timeZone");
      !zone.empty() && !find_time_zone(zone).ok()) {
    return wrong_field("timeZone", fmt::format("there is no time zone \"{}\"", zone));
  }
  return std::nullopt;
}

// Returns true if the form has a field of the job that a schedule submits, or of its container.
bool changes_job(const FormFields& form) {
  static const std::set<std::string_view> kOwn{"name",     "edit_target", "cron_expr",
                                               "timeZone", "overlap",     "service_account"};
  return std::ranges::any_of(form, [](const auto& field) { return !kOwn.contains(field.first); });
}

// Sets the fields of the form in the job that a schedule submits.
void edit_job(Value& job, const FormFields& form) {
  job.set_path({"metadata", "labels", kScheduleName}, form_field(form, "name"));
  Value& spec = job.member("spec");
  const auto forge = [&]() -> Value& {
    return spec.contains("executionEngine") ? spec.member("executionEngine").member("forge")
                                            : spec.member("forge");
  };
  if (form.contains("project")) {
    const std::string project = form_field(form, "project");
    if (project != forge()["project"].as_string()) {
      job.set_path({"metadata", "generateName"}, name_prefix(project));
    }
    forge().set("project", project);
  }
  if (form.contains("preset")) {
    const std::string preset = form_field(form, "preset");
    forge().set("args", preset.empty() ? Value::list() : Value::list({preset}));
  }
  if (form.contains("cluster")) {
    spec.set("cluster", form_field(form, "cluster"));
  }
  if (form.contains("pipeline")) {
    spec.set("pipeline", form_field(form, "pipeline", kDefaultPipeline));
  }
  if (form.contains("owner")) {
    spec.set("owner", form_field(form, "owner", kDefaultOwner));
  }
}

// Returns the container with the job, or nullptr.
Value* find_submitter(Value& pod) {
  Value& containers = pod.member("containers");
  for (std::size_t i = 0; i < containers.size(); ++i) {
    for (const Value& variable : containers.item(i)["env"].items()) {
      if (variable["name"].as_string() == kJobVariable) {
        return &containers.item(i);
      }
    }
  }
  return nullptr;
}

// Sets job, image and resolver of the pod that submits; null: its job stays.
void edit_pod(Value& pod, const FormFields& form, const Submitter& submitter, const Value& job) {
  if (Value* container = find_submitter(pod)) {
    const std::string wanted = form_field(form, "image_source", submitter.image);
    if (form.contains("image_source") && wanted != (*container)["image"].as_string()) {
      set_image(*container, wanted, submitter);
    }
    if (!job.is_null()) {
      put_item(container->member("env"),
               Value::object({{"name", kJobVariable}, {"value", json::print(job)}}));
    }
    if (has_resolver(form)) {
      put_item(container->member("volumeMounts"), shared_mount());
    }
  }
  if (has_resolver(form)) {
    set_resolver(pod, form);
  } else if (form.contains("resolver_script")) {
    drop_resolver(pod);
  }
}

}  // namespace

std::string form_field(const FormFields& form, std::string_view name, std::string_view fallback) {
  const auto found = form.find(name);
  return found == form.end() || found->second.empty() ? std::string(fallback) : found->second;
}

bool has_resolver(const FormFields& form) {
  return !form_field(form, "resolver_script").empty();
}

Value resolver_map(const FormFields& form, const std::string& ns) {
  Value labels = Value::object();
  labels.set(kManagedBy, kManager);
  labels.set("fournos-launcher/type", "resolver-script");
  Value data = Value::object();
  data.set(form_field(form, "resolver_filename", kDefaultFile),
           without_returns(form_field(form, "resolver_script")));
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", Value::object({{"name", form_field(form, "name") + "-resolver"},
                                   {"namespace", ns},
                                   {"labels", std::move(labels)}})},
       {"data", std::move(data)}});
}

void set_account(Value& schedule, const std::string& account) {
  Value& pod = pod_of_schedule(schedule);
  pod.erase("serviceAccount");  // the old name of the same field
  if (account.empty()) {
    pod.erase("serviceAccountName");
  } else {
    pod.set("serviceAccountName", account);
  }
}

Result<Value, FormError> schedule_of_form(const FormFields& form, const Submitter& submitter) {
  for (const char* required : {"name", "project", "cluster", "cron_expr"}) {
    if (form_field(form, required).empty()) {
      return wrong_field(required, "is required");
    }
  }
  if (auto wrong = wrong_fields(form)) {
    return *std::move(wrong);
  }
  FormFields job_form = form;
  job_form.erase("owner");
  auto job = job_of_form(job_form, submitter.ns, Instant{});
  if (!job.ok()) {
    return FormError{.error = job.error()};
  }
  const std::string image = form_field(form, "image_source", submitter.image);
  auto made = fournos::schedule_object(
      {.name = form_field(form, "name"),
       .ns = submitter.ns,
       .cron = form_field(form, "cron_expr"),
       .zone = form_field(form, "timeZone"),
       .overlap = form_field(form, "overlap", kOverlaps.front()),
       .image = image,
       .service_account = form_field(form, "service_account", submitter.account),
       .preset = form_field(form, "preset"),
       .job = *job});
  if (!made.ok()) {
    return FormError{.error = made.error()};
  }
  FormFields noted = form;
  for (const auto& [field, fallback] : kNoted) {
    noted.try_emplace(std::string(field));
  }
  note_fields(made->member("metadata"), noted);
  Value& pod = pod_of_schedule(*made);
  Value& container = pod.member("containers").item(0);
  set_image(container, image, submitter);
  put_item(container.member("env"),
           Value::object({{"name", kJobVariable},
                          {"value", json::print(scheduled_job(form, submitter.ns, *job))}}));
  if (has_resolver(form)) {
    put_item(container.member("volumeMounts"), shared_mount());
    set_resolver(pod, form);
  }
  return *std::move(made);
}

Result<Value, FormError> edited_schedule(const FormFields& given, const Submitter& submitter,
                                         const Object& before) {
  FormFields form = given;
  form.try_emplace("name", before.name());
  for (const char* required : {"name", "project", "cluster", "cron_expr"}) {
    if (form.contains(required) && form_field(form, required).empty()) {
      return wrong_field(required, "is required");
    }
  }
  if (auto wrong = wrong_fields(form)) {
    return *std::move(wrong);
  }
  Value metadata = before.metadata();
  if (form_field(form, "name") != before.name()) {
    metadata = Value::object({{"name", form_field(form, "name")},
                              {"namespace", before.ns()},
                              {"labels", before.metadata()["labels"]}});
    if (before.metadata().contains("annotations")) {
      metadata.set("annotations", before.metadata()["annotations"]);
    }
  }
  metadata.erase("managedFields");
  note_fields(metadata, form);
  Value schedule = Value::object({{"apiVersion", api::kCronJob.api_version()},
                                  {"kind", api::kCronJob.name},
                                  {"metadata", std::move(metadata)},
                                  {"spec", before.spec()}});
  set_timing(schedule.member("spec"), form);
  const auto stored = fournos::job_of_schedule(before);
  if (!stored && changes_job(form)) {
    return FormError{.error = Error::conflict(fmt::format(
                         "schedule {} has no readable FJOB_JSON to change", before.name()))};
  }
  if (stored) {
    Value job = *stored;
    edit_job(job, form);
    Value& pod = pod_of_schedule(schedule);
    edit_pod(pod, form, submitter, job == *stored ? Value() : job);
  }
  if (form.contains("service_account")) {
    set_account(schedule, form_field(form, "service_account", submitter.account));
  }
  return schedule;
}

}  // namespace athanor::console
