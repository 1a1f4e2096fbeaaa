// SPDX-License-Identifier: Apache-2.0
// The table of routes, its description, and fields of forms.
#include "console/routes/route_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/ascii.hpp"
#include "console/routes/form_data.hpp"
#include "console/routes/job_changes.hpp"
#include "console/routes/schedule_changes.hpp"
#include "kube/text/json.hpp"

namespace athanor::console::route_table_test {
namespace {

const Instant kNow = *parse_time("2026-01-31T08:00:05Z");

TEST(RouteTable, DescribesEachRouteOnce) {
  const Value document = openapi_document("1");
  std::set<std::string> seen;
  for (const Route& route : all_routes()) {
    const std::string name = std::string(route.method) + " " + std::string(route.path);
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_TRUE(document["paths"][route.path].contains(lower(route.method))) << name;
    EXPECT_FALSE(route.summary.empty()) << name;
  }
}

TEST(RouteTable, GuardsEachChange) {
  for (const Route& route : all_routes()) {
    const bool harmless = route.path == "/api/v1/login" || route.path == "/api/v1/logout" ||
                          route.path == "/api/v1/mig/whatif" || route.path == "/api/v1/numa/fit";
    if (route.method != "GET" && !harmless) {
      EXPECT_EQ(route.guard, Guard::Change) << route.method << " " << route.path;
    }
  }
}

TEST(RouteTable, PrefersFixedWords) {
  EXPECT_EQ(find_route("GET", "/api/v1/jobs/compare")->route->path, "/api/v1/jobs/compare");
  const auto found = find_route("GET", "/api/v1/jobs/a/b");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->parts.at("ns"), "a");
  EXPECT_EQ(found->parts.at("name"), "b");
  EXPECT_EQ(find_route("GET", "/api/v1/nothing").error().code, 404);
  EXPECT_EQ(find_route("PUT", "/api/v1/jobs").error().code, 405);
}

TEST(RouteTable, RefusesUnknownQueryNamesOnEveryRoute) {
  std::size_t refused = 0;
  for (const Route& route : all_routes()) {
    if (!route.path.starts_with("/api/v1/")) {
      continue;
    }
    const std::string place = std::string(route.method) + " " + std::string(route.path);
    net::Request request;
    for (const std::string_view name : query_names(route)) {
      request.query.emplace_back(std::string(name), "x");
    }
    std::string unknown;
    EXPECT_TRUE(check_query(route, request, unknown).ok()) << place;
    request.query.emplace_back("tial", "5");
    const auto checked = check_query(route, request, unknown);
    ASSERT_FALSE(checked.ok()) << place;
    EXPECT_EQ(unknown, "tial");
    EXPECT_EQ(checked.error().code, 400);
    EXPECT_TRUE(checked.error().message.starts_with("unknown parameter \"tial\"")) << place;
    for (const std::string_view name : query_names(route)) {
      EXPECT_NE(checked.error().message.find(name), std::string::npos) << place << " " << name;
    }
    ++refused;
  }
  EXPECT_GT(refused, 50U);
}

TEST(RouteTable, RefusesUnknownFieldsOfBodies) {
  const auto found = find_route("PUT", "/api/v1/clusters/a/lock");
  ASSERT_TRUE(found.ok());
  const Route& lock = *found->route;
  std::string unknown;
  const Value good = Value::object({{"owner", "ana"}, {"ttl", "1h"}, {"transfer", true}});
  EXPECT_TRUE(check_body(lock, good, unknown).ok());
  EXPECT_TRUE(check_body(lock, Value(), unknown).ok());
  const auto refused = check_body(lock, Value::object({{"until", "1h"}}), unknown);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, 400);
  EXPECT_EQ(unknown, "until");
  EXPECT_EQ(refused.error().message, "unknown field \"until\"; known: owner, ttl, transfer");
  // The API server judges whole objects.
  const auto jobs = find_route("POST", "/api/v1/jobs");
  ASSERT_TRUE(jobs.ok());
  EXPECT_TRUE(check_body(*jobs->route, Value::object({{"status", "x"}}), unknown).ok());
}

TEST(RouteTable, DescribesTheQueryNamesOfEveryRoute) {
  const Value document = openapi_document("1");
  for (const Route& route : all_routes()) {
    std::set<std::string> described;
    for (const Value& one :
         document["paths"][route.path][lower(route.method)]["parameters"].items()) {
      if (one["in"].as_string() == "query") {
        described.insert(one["name"].str());
      }
    }
    const auto names = query_names(route);
    EXPECT_EQ(described, std::set<std::string>(names.begin(), names.end())) << route.path;
  }
}

TEST(JobForm, MakesTheJobOfTheSpecification) {
  const auto job = job_of_form({{"project", "MCP_Gateway"},
                                {"cluster", "c1"},
                                {"preset", "p"},
                                {"version", "2.0"},
                                {"exclusive", "on"},
                                {"config_overrides_raw", "a.b: 1\nno colon\n c : d:e"},
                                {"pull_sha", "abcdef0"}},
                               "ns", kNow);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ((*job)["metadata"]["name"].as_string(), "forge-mcp-gateway-20260131-080005");
  const Value& spec = (*job)["spec"];
  EXPECT_EQ(spec["owner"].as_string(), "fournos-dashboard");
  EXPECT_EQ(spec["pipeline"].as_string(), "forge-test-only");
  EXPECT_TRUE(spec["exclusive"].as_bool());
  EXPECT_EQ(json::print(spec["executionEngine"]["forge"]["configOverrides"]),
            R"({"a.b":"1","c":"d:e","infrastructure.version":"2.0"})");
  EXPECT_EQ(spec["env"]["PULL_PULL_SHA"].as_string(), "abcdef0");
  EXPECT_EQ(job_of_form({{"project", "x"}}, "ns", kNow).error().message.find("cluster"), 0U);
}

const Submitter kSubmitter{.ns = "ns", .image = "athanor:1", .account = "submitter"};

TEST(ScheduleForm, MakesTheCronJobOfTheSpecification) {
  const auto schedule = schedule_of_form({{"name", "nightly"},
                                          {"project", "my_project"},
                                          {"cluster", "c1"},
                                          {"cron_expr", "0 3 * * *"},
                                          {"resolver_script", "print(1)\r\n"},
                                          {"resolver_filename", "r.py"}},
                                         kSubmitter);
  ASSERT_TRUE(schedule.ok());
  const Value& pod = schedule->at({"spec", "jobTemplate", "spec", "template", "spec"});
  EXPECT_EQ(schedule->at({"metadata", "labels", "fournos-launcher/managed-by"}).as_string(),
            "fournos-dashboard");
  EXPECT_EQ(pod["initContainers"][0]["command"][1].as_string(), "/resolver/r.py");
  EXPECT_EQ(pod["serviceAccountName"].as_string(), "submitter");
  EXPECT_EQ(json::print(pod["containers"][0]["args"]), R"(["submit","--from-environment"])");
  EXPECT_EQ(pod["containers"][0]["env"][1]["name"].as_string(), "FOURNOS_JOB_NAME");
  const auto job = json::parse(pod["containers"][0]["env"][0]["value"].as_string());
  ASSERT_TRUE(job.ok());
  EXPECT_EQ((*job)["metadata"]["generateName"].as_string(), "forge-my-project-sched-");
  EXPECT_EQ((*job)["spec"]["owner"].as_string(), "fournos-dashboard/scheduler");
  EXPECT_TRUE((*job)["spec"]["exclusive"].as_bool());
}

TEST(ScheduleForm, RefusesWrongFields) {
  const FormFields good{{"name", "a"}, {"project", "p"}, {"cluster", "c"}, {"cron_expr", "@daily"}};
  for (const auto& [field, value] : FormFields{
           {"name", "Not A Name"}, {"cron_expr", "61 * * * *"}, {"project", ""}, {"cluster", ""}}) {
    FormFields bad = good;
    bad[field] = value;
    const auto refused = schedule_of_form(bad, kSubmitter);
    ASSERT_FALSE(refused.ok()) << field;
    EXPECT_EQ(refused.error().field, field);
  }
  EXPECT_TRUE(schedule_of_form(good, kSubmitter).ok());
}

TEST(ScheduleForm, KeepsFieldsThatEditsOmit) {
  const auto made = schedule_of_form({{"name", "a"},
                                      {"project", "p"},
                                      {"cluster", "c"},
                                      {"cron_expr", "@daily"},
                                      {"timeZone", "Europe/Berlin"},
                                      {"overlap", "Forbid"},
                                      {"image_source", "python:3.12"},
                                      {"resolver_script", "print(1)"}},
                                     kSubmitter);
  ASSERT_TRUE(made.ok());
  auto edited = edited_schedule({{"cron_expr", "0 4 * * *"}}, kSubmitter, Object(*made));
  ASSERT_TRUE(edited.ok());
  Value expected = *made;
  expected.set_path({"spec", "schedule"}, "0 4 * * *");
  EXPECT_EQ(json::print((*edited)["metadata"]), json::print(expected["metadata"]));
  EXPECT_EQ((*edited)["spec"], expected["spec"]);

  edited = edited_schedule({{"timeZone", ""}, {"resolver_script", ""}, {"preset", "fast"}},
                           kSubmitter, Object(*made));
  ASSERT_TRUE(edited.ok());
  EXPECT_FALSE((*edited)["spec"].contains("timeZone"));
  EXPECT_FALSE((*edited)["metadata"]["annotations"].contains(kResolverMap));
  const Value& pod = edited->at({"spec", "jobTemplate", "spec", "template", "spec"});
  EXPECT_FALSE(pod.contains("initContainers"));
  EXPECT_EQ(pod["containers"][0]["image"].as_string(), "python:3.12");
}

TEST(FormData, ReadsMultipartFields) {
  const FormFields fields = multipart_fields(
      "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n2\r\n--x\r\n"
      "Content-Disposition: form-data; name=\"f\"; filename=\"r.py\"\r\n\r\nprint\r\n--x--\r\n",
      "multipart/form-data; boundary=x");
  EXPECT_EQ(fields.at("a"), "1\r\n2");
  EXPECT_EQ(fields.at("f"), "print");
  EXPECT_EQ(fields.at("f_name"), "r.py");
  EXPECT_TRUE(multipart_fields("nonsense", "multipart/form-data").empty());
}

}  // namespace
}  // namespace athanor::console::route_table_test
