// SPDX-License-Identifier: Apache-2.0
// Section 3: the environment, and what it must not hold; R9.4 quoting; ttl.
#include "systems/fournos/settings.hpp"

#include <gtest/gtest.h>

#include "systems/fournos/desired.hpp"
#include "systems/fournos/system.hpp"
#include "systems/fournos/ttl.hpp"

namespace athanor::fournos::settings_test {
namespace {

using Environment = std::map<std::string, std::string>;

std::string refusal(Environment environment) {
  const auto settings = parse_settings(environment);
  return settings.ok() ? "" : settings.error().message;
}

TEST(Settings, Defaults) {
  const auto settings = parse_settings({{"fournos_namespace", "bench"}, {"HOME", "/"}});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->workload_namespace, "bench");
  EXPECT_EQ(settings->secrets_namespace, "psap-secrets");
  EXPECT_EQ(settings->local_queue, "fournos-queue");
  EXPECT_EQ(settings->gpu_prefix, "fournos/gpu-");
  EXPECT_EQ(settings->vault_secret_pattern, "vault-{entry}");
  EXPECT_EQ(settings->gc_interval(), std::chrono::seconds(300));
  EXPECT_EQ(settings->secret_grace(), std::chrono::seconds(300));
  EXPECT_EQ(settings->resolve_deadline_seconds, 300);
  EXPECT_EQ(settings->artifact_size, "10Gi");
  EXPECT_EQ(settings->api(), api::FournosApi::Auto);
  EXPECT_EQ(settings->eviction_policy(), EvictionPolicy::Requeue);
  EXPECT_EQ(api::decode<Settings>(api::encode(*settings)).workload_namespace, "bench");
}

TEST(Settings, NamespaceIsRequired) {
  EXPECT_EQ(refusal({}), "ERROR: FOURNOS_WORKLOAD_NAMESPACE env var is required");
  EXPECT_EQ(refusal({{"FOURNOS_NAMESPACE", ""}}),
            "ERROR: FOURNOS_WORKLOAD_NAMESPACE env var is required");
  EXPECT_EQ(refusal({{"FOURNOS_API", "seed"}}), "ERROR: FOURNOS_NAMESPACE env var is required");
  EXPECT_NE(refusal({{"FOURNOS_NAMESPACE", "a"}, {"FOURNOS_WORKLOAD_NAMESPACE", "b"}}), "");
  EXPECT_EQ(refusal({{"FOURNOS_NAMESPACE", "a"}, {"FOURNOS_WORKLOAD_NAMESPACE", "a"}}), "");
}

TEST(Settings, RefusalsNameTheVariable) {
  const std::pair<const char*, const char*> bad[] = {
      {"FOURNOS_GC_INTERVAL_SEC", "0"},      {"FOURNOS_GC_INTERVAL_SEC", "-1"},
      {"FOURNOS_GC_INTERVAL_SEC", "abc"},    {"FOURNOS_GC_INTERVAL_SEC", ""},
      {"FOURNOS_GC_INTERVAL_SEC", "nan"},    {"FOURNOS_GC_INTERVAL_SEC", "5s"},
      {"FOURNOS_SECRET_GRACE_SEC", "-1"},    {"FOURNOS_SECRET_GRACE_SEC", "soon"},
      {"FOURNOS_SECRET_GRACE_SEC", ""},      {"FOURNOS_SECRET_GRACE_SEC", "nan"},
      {"FOURNOS_RESOLVE_DEADLINE_SEC", "0"}, {"FOURNOS_RESOLVE_DEADLINE_SEC", "1.5"},
      {"FOURNOS_LOG_LEVEL", "loud"},         {"FOURNOS_API", "v2"},
      {"FOURNOS_EVICTION_POLICY", "maybe"},  {"FOURNOS_PIPELINE_TIMEOUT", "24h"},
      {"FOURNOS_MIN_PHASE_SEC", "-1"},       {"FOURNOS_MIN_PHASE_SEC", "soon"},
      {"FOURNOS_RECONCILE_MODE", "often"},   {"FOURNOS_PIPELINE_TIMEOUT", "soon"},
      {"FOURNOS_ARTIFACT_PVC_SIZE", "many"},
  };
  for (const auto& [name, value] : bad) {
    const std::string text = refusal({{"FOURNOS_NAMESPACE", "a"}, {name, value}});
    EXPECT_NE(text.find(name), std::string::npos) << name << "=" << value << ": " << text;
  }
}

TEST(Settings, Accepted) {
  for (const auto& [name, value] : {std::pair{"FOURNOS_GC_INTERVAL_SEC", "0.5"},
                                    {"fournos_log_level", "debug"},
                                    {"FOURNOS_PIPELINE_TIMEOUT", "25h"},
                                    {"FOURNOS_PIPELINE_TIMEOUT", "0s"}}) {
    EXPECT_EQ(refusal({{"FOURNOS_NAMESPACE", "a"}, {name, value}}), "") << name;
  }
}

// The template of the resolve Job: the file that is named, or the one of an installation.
TEST(Settings, ReadTheResolveTemplate) {
  const auto read = [](std::map<std::string, std::string> variables,
                       const std::map<std::string, std::string>& files, bool in_lab) {
    variables.emplace("FOURNOS_NAMESPACE", "a");
    const auto settings =
        system().settings({.variables = variables,
                           .in_lab = in_lab,
                           .read_file = [&files](const std::string& path) -> Result<std::string> {
                             const auto file = files.find(path);
                             return file == files.end() ? Error::not_found("cannot read " + path)
                                                        : Result<std::string>(file->second);
                           }});
    return settings ? (*settings)["resolveTemplate"]["kind"].str() : settings.error().message;
  };
  const std::map<std::string, std::string> installed{
      {"config/forge/resolve_job.yaml", "kind: Job"}};
  EXPECT_EQ(read({}, installed, false), "Job");
  EXPECT_EQ(read({}, installed, true), "") << "a lab has the built-in one";
  EXPECT_EQ(read({}, {}, false), "");
  EXPECT_EQ(read({}, {{"config/forge/resolve_job.yaml", "- a"}}, false),
            "config/forge/resolve_job.yaml: holds no Job");
  const std::map<std::string, std::string> named{{"FOURNOS_RESOLVE_JOB_TEMPLATE", "own.yaml"}};
  EXPECT_EQ(read(named, {{"own.yaml", "kind: Own"}}, true), "Own");
  EXPECT_EQ(read(named, installed, false), "cannot read own.yaml");
}

// Other pauses must not be zero; this one then keeps no copies at all.
TEST(Settings, TheGraceOfSecretsMayBeZero) {
  for (const auto& [value, grace] : {std::pair{"0", Duration::zero()},
                                     {"0.5", std::chrono::milliseconds(500)},
                                     {"30", std::chrono::seconds(30)}}) {
    const auto settings =
        parse_settings({{"FOURNOS_NAMESPACE", "a"}, {"FOURNOS_SECRET_GRACE_SEC", value}});
    ASSERT_TRUE(settings.ok()) << value;
    EXPECT_EQ(settings->secret_grace(), grace) << value;
  }
}

TEST(Settings, PollModeHasThePaceOfUpstream) {
  const auto pace = [](const std::map<std::string, std::string>& more) {
    std::map<std::string, std::string> variables{{"FOURNOS_NAMESPACE", "a"}};
    variables.insert(more.begin(), more.end());
    return parse_settings(variables).value().least_phase_time();
  };
  EXPECT_EQ(pace({}), Duration::zero());
  EXPECT_EQ(pace({{"FOURNOS_RECONCILE_MODE", "event"}}), Duration::zero());
  EXPECT_EQ(pace({{"FOURNOS_RECONCILE_MODE", "poll"}}), std::chrono::seconds(5));
  EXPECT_EQ(pace({{"FOURNOS_RECONCILE_MODE", "poll"}, {"FOURNOS_MIN_PHASE_SEC", "0.5"}}),
            std::chrono::milliseconds(500));
  EXPECT_EQ(pace({{"FOURNOS_RECONCILE_MODE", "poll"}, {"FOURNOS_MIN_PHASE_SEC", "0"}}),
            Duration::zero());
}

TEST(EnvText, QuotesLikeAShellExpects) {
  EXPECT_EQ(env_text({}), "");
  EXPECT_EQ(env_text({{"B", "x"}, {"A", ""}}), "A=''\nB=x\n");
  EXPECT_EQ(shell_quote("aZ09_@%+=:,./-"), "aZ09_@%+=:,./-");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("it's"), R"('it'"'"'s')");
  EXPECT_EQ(shell_quote("a\nb"), "'a\nb'");
  EXPECT_EQ(shell_quote("~"), "'~'");
  EXPECT_EQ(shell_quote("ä"), "'ä'");
}

TEST(Ttl, Forms) {
  EXPECT_EQ(parse_ttl("12h"), std::chrono::hours(12));
  EXPECT_EQ(parse_ttl("7d"), std::chrono::hours(168));
  EXPECT_EQ(parse_ttl("1h30m"), std::chrono::minutes(90));
  EXPECT_EQ(parse_ttl("90s"), std::chrono::seconds(90));
  EXPECT_EQ(parse_ttl("1d2h3m4s"), std::chrono::seconds(93784));
  for (const char* bad : {"", "h", "1", "1x", "30m1h", "-1h", "1h ", "1.5h",
                          "99999999999999999999s", "9999999999d"}) {
    EXPECT_FALSE(parse_ttl(bad)) << bad;
  }
}

}  // namespace
}  // namespace athanor::fournos::settings_test
