// SPDX-License-Identifier: Apache-2.0
// athanor templates.
#include "cli/jobs/job_templates.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "api/builtin.hpp"
#include "base/clock.hpp"
#include "cli/jobs/job_builder.hpp"
#include "cli/jobs/job_files.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/chosen_names.hpp"
#include "cli/session/elsewhere.hpp"
#include "cli/session/verbs.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/usage.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/texts.hpp"

namespace athanor::cli {
namespace {

constexpr const char* kJobKey = "job.yaml";
constexpr const char* kDescription = "athanor.dev/description";

// A FournosJob of a file or of a stored job, or none where the flags alone say what it is.
Result<Value> base_of_template(Session& session, const SubmitOptions& options,
                               const std::string& from) {
  if (options.files.size() > 1) {
    return wrong_usage("a template is one job: give one --file");
  }
  std::vector<Value> jobs;
  if (!from.empty()) {
    ATHANOR_TRY(const Object job, session.get(api::kFournosJob, session.ns(), from));
    ATHANOR_TRY(jobs, read_jobs(json::print(job.body()), from));
  } else if (!options.files.empty()) {
    ATHANOR_TRY(const std::string text, read_manifest(options.files.front()));
    ATHANOR_TRY(jobs, read_jobs(text, options.files.front()));
  } else {
    return build_job(options, "");
  }
  if (jobs.size() != 1) {
    return wrong_usage(fmt::format("a template is one job: there are {}", jobs.size()));
  }
  ATHANOR_TRY_VOID(override_job(jobs.front(), options));
  return jobs.front();
}

Result<int> save_template(const TemplateSaveOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.job.target, Session::Home::Jobs));
  ATHANOR_TRY(const Value job, base_of_template(session, options.job, options.from));
  // The server's word on the job's fields, before it is kept.
  ATHANOR_TRY_VOID(session.connection().call(
      {.method = "POST",
       .path = Session::path(api::kFournosJob, session.ns()) +
               "?fieldManager=athanor-submit&fieldValidation=Strict&dryRun=All",
       .body = [&] {
         Value trial = job;
         trial.member("metadata").erase("namespace");
         return trial;
       }()}));
  const Value object = template_object(options.name, options.description, job);
  ATHANOR_TRY_VOID(session.connection().call(
      {.method = "PATCH",
       .path = Session::path(api::kConfigMap, session.ns(), object["metadata"]["name"].str()) +
               "?fieldManager=athanor-templates&force=true",
       .body = object,
       .content_type = "application/apply-patch+yaml"}));
  Terminal(STDOUT_FILENO)
      .print(fmt::format("template {} saved in namespace {}; submit it: athanor submit --template "
                         "{} -n {}\n",
                         options.name, session.ns(), options.name, session.ns()));
  return 0;
}

std::string config_map_name(std::string_view name) {
  return fmt::format("template-{}", name);
}

std::string template_name(const std::string& name) {
  constexpr std::string_view kPrefix = "template-";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

Result<int> delete_templates(const TemplateDeleteOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  NameChoice choice = options.choice;
  for (std::string& name : choice.names) {
    if (name.find('/') == std::string::npos) {  // "configmap/template-x" is what -o name prints
      name = config_map_name(name);
    }
  }
  ATHANOR_TRY(const std::vector<std::string> maps,
              chosen_names(session, api::kConfigMap, choice, kTemplateSelector));
  return for_each_name(maps, [&](const std::string& map) -> Result<int> {
    const std::string name = template_name(map);
    ATHANOR_TRY_VOID(read_template(session, name));  // no other ConfigMap is deleted
    ATHANOR_TRY_VOID(session.connection().call(
        {.method = "DELETE", .path = Session::path(api::kConfigMap, session.ns(), map)}));
    Terminal(STDOUT_FILENO).print(fmt::format("template {} deleted\n", name));
    return 0;
  });
}

Result<int> list_templates(const TemplatesOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  const Instant now = wall_clock()->now();
  ListOptions list = options.list;
  for (std::string& name : list.names) {
    name = config_map_name(name);
  }
  ATHANOR_TRY(const ListFilter filter, ListFilter::parse(list, {}, now));
  if (list.watch) {
    return wrong_usage("templates are listed once: --watch is not for them");
  }
  ATHANOR_TRY(
      const std::vector<Object> maps,
      session.list(api::kConfigMap, options.all_namespaces ? "" : session.ns(), kTemplateSelector));
  std::vector<std::string> missing = filter.missing(maps);
  for (std::string& name : missing) {
    name.erase(0, config_map_name("").size());
  }
  views::Listing listing = template_listing(maps, options.all_namespaces, now);
  ATHANOR_TRY_VOID(arrange(listing, filter, list));
  if (listing.rows.empty() && missing.empty() && list.format.is_table()) {
    Terminal(STDERR_FILENO)
        .print(fmt::format(
            "No templates in {}. Save one: athanor templates save NAME --project P ...\n{}",
            options.all_namespaces ? "any namespace" : "namespace " + session.ns(),
            options.all_namespaces ? ""
                                   : hint_elsewhere(session, api::kConfigMap, "templates",
                                                    std::string(kTemplateSelector))));
    return 0;
  }
  const Terminal out(STDOUT_FILENO);
  ATHANOR_TRY(const std::string text, print_listing(listing, list, out.columns()));
  out.print(text);
  return report_missing("template", missing);
}

}  // namespace

Value template_object(const std::string& name, const std::string& description, Value job) {
  Value& metadata = job.member("metadata");
  metadata.erase("namespace");
  if (metadata.contains("name")) {
    // Each submission makes a job of its own.
    metadata.set("generateName", name + "-");
    metadata.erase("name");
  }
  Value own = Value::object(
      {{"name", config_map_name(name)}, {"labels", Value::object({{kTemplateLabel, "job"}})}});
  if (!description.empty()) {
    own.set("annotations", Value::object({{kDescription, description}}));
  }
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", std::move(own)},
                        {"data", Value::object({{kJobKey, yaml::print(job)}})}});
}

Result<Value> job_of_template(const Object& config_map) {
  const std::string name = template_name(std::string(config_map.name()));
  if (config_map.label(kTemplateLabel) != "job") {
    return Error::not_found(fmt::format("configmaps \"{}\" is no template: it lacks the label {}",
                                        config_map.name(), kTemplateSelector));
  }
  ATHANOR_TRY(
      const std::vector<Value> jobs,
      read_jobs(config_map.body()["data"][kJobKey].as_string(), fmt::format("template {}", name)));
  if (jobs.size() != 1) {
    return Error::bad_request(fmt::format("template {}: holds {} jobs", name, jobs.size()));
  }
  return jobs.front();
}

Result<Value> read_template(Session& session, const std::string& name) {
  const auto map = session.get(api::kConfigMap, session.ns(), config_map_name(name));
  if (!map.ok() && map.error().code == Error::not_found("").code) {
    return Error::not_found(
        fmt::format("template \"{}\" not found in namespace {}; athanor templates lists them", name,
                    session.ns()));
  }
  if (!map.ok()) {
    return map.error();
  }
  return job_of_template(*map);
}

views::Listing template_listing(const std::vector<Object>& config_maps, bool with_namespace,
                                Instant now) {
  views::Listing listing{
      .titles = {"NAME", "OWNER", "PROJECT", "PIPELINE", "CLUSTER", "GPUS", "AGE", "DESCRIPTION"}};
  if (with_namespace) {
    listing.titles.insert(listing.titles.begin(), "NAMESPACE");
  }
  for (const Object& map : config_maps) {
    const auto job = job_of_template(map);
    const Value spec = job.ok() ? (*job)["spec"] : Value();
    const Value& hardware = spec["hardware"];
    const auto created = map.creation_time();
    views::ListRow row{.object = map, .traits = {.phase = {}, .owner = spec["owner"].str()}};
    if (with_namespace) {
      row.cells.emplace_back(map.ns());
    }
    for (std::string cell :
         {template_name(std::string(map.name())), views::or_dash(spec["owner"].str()),
          views::or_dash(spec["forge"]["project"].str()), views::or_dash(spec["pipeline"].str()),
          views::or_dash(spec["cluster"].str()),
          hardware.is_object()
              ? fmt::format("{} {}", hardware["gpuCount"].as_int(), hardware["gpuType"].as_string())
              : std::string("-"),
          created ? format_age(now - *created) : std::string("<unknown>"),
          job.ok() ? views::or_dash(std::string(map.annotation(kDescription)))
                   : job.error().message}) {
      row.cells.push_back(std::move(cell));
    }
    listing.rows.push_back(std::move(row));
  }
  std::ranges::sort(listing.rows, {}, [](const views::ListRow& row) { return row.object.key(); });
  return listing;
}

int run(const TemplatesOptions& options) {
  const auto code = list_templates(options);
  return code.ok() ? *code : fail(code.error());
}

int run(const TemplateSaveOptions& options) {
  const auto code = save_template(options);
  return code.ok() ? *code : fail(code.error());
}

int run(const TemplateDeleteOptions& options) {
  const auto code = delete_templates(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
