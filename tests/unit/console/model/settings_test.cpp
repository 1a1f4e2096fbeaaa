// SPDX-License-Identifier: Apache-2.0
// The console's environment variables (docs/spec/dashboard.md B6).
#include "console/model/settings.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace athanor::console::settings_test {
namespace {

std::string refusal(const std::map<std::string, std::string>& environment) {
  const auto settings = read_settings(environment);
  return settings.ok() ? "" : settings.error().message;
}

TEST(ConsoleSettings, HaveTheDefaultsOfTheSpecification) {
  const auto settings = read_settings({});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->address, "127.0.0.1:8000");
  EXPECT_EQ(settings->auth, AuthMode::None);
  EXPECT_EQ(settings->namespaces, std::vector<std::string>{"fournos-jobs"});
  EXPECT_EQ(settings->history_days, 90);
  EXPECT_EQ(settings->log_archive_bytes, std::int64_t{512} << 20);
  EXPECT_EQ(read_settings({{"CONSOLE_ADDR", "0.0.0.0:8000"}})->auth, AuthMode::Token);
}

TEST(ConsoleSettings, RefuseAnonymousAccessFromOtherMachines) {
  const std::string text = refusal({{"CONSOLE_ADDR", "0.0.0.0:8000"}, {"CONSOLE_AUTH", "none"}});
  EXPECT_NE(text.find("CONSOLE_AUTH"), std::string::npos) << text;
  EXPECT_NE(text.find("CONSOLE_ALLOW_ANONYMOUS"), std::string::npos) << text;
  EXPECT_EQ(refusal({{"CONSOLE_ADDR", "0.0.0.0:8000"},
                     {"CONSOLE_AUTH", "none"},
                     {"CONSOLE_ALLOW_ANONYMOUS", "true"}}),
            "");
}

TEST(ConsoleSettings, RefuseWrongValues) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"CONSOLE_AUTH", "password"},
                                          {"CONSOLE_READ_ONLY", "perhaps"},
                                          {"CONSOLE_HISTORY_DAYS", "-1"},
                                          {"CONSOLE_LOG_ARCHIVE_MB", "much"},
                                          {"CONSOLE_BASE_PATH", "console"},
                                          {"CONSOLE_TLS_CERT", "/cert.pem"},
                                          {"K8S_REQUEST_TIMEOUT", "0"}}) {
    EXPECT_NE(refusal({{name, value}}), "") << name;
  }
  EXPECT_NE(refusal({{"CONSOLE_AUTH", "proxy"}}).find("CONSOLE_TRUSTED_PROXIES"),
            std::string::npos);
}

TEST(ConsoleSettings, ShowNoPassword) {
  for (const char* url : {"postgresql+asyncpg://user:secret@host:5432/db",
                          "postgresql:///db?password=secret&host=h&password=secret"}) {
    const auto settings = read_settings({{"DATABASE_URL", url}});
    ASSERT_TRUE(settings.ok());
    for (const auto& [name, value] : settings->lines()) {
      EXPECT_EQ(value.find("secret"), std::string::npos) << name;
    }
  }
}

TEST(ConsoleSettings, ReadSessionTimesAndEndpoints) {
  const auto settings = read_settings({{"CONSOLE_SESSION_TIME", "90m"},
                                       {"LOG_LEVEL", "WARNING"},
                                       {"CONSOLE_CONTROLLERS_URL", "http://c:8080/"},
                                       {"CONSOLE_CONTROLLERS_LEASE", "ns/athanor"}});
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_EQ(settings->session_time, std::chrono::minutes(90));
  EXPECT_EQ(settings->log_level, log::Level::Warn);
  EXPECT_EQ(settings->controllers_url, "http://c:8080");
  const std::pair<const char*, const char*> wrong[] = {
      {"CONSOLE_SESSION_TIME", "0s"},        {"CONSOLE_SESSION_TIME", "169h"},
      {"CONSOLE_SESSION_TIME", "8"},         {"LOG_LEVEL", "loud"},
      {"CONSOLE_CONTROLLERS_URL", "c:8080"}, {"CONSOLE_CONTROLLERS_LEASE", "athanor"},
      {"CONSOLE_CONTROLLERS_LEASE", "/x"},   {"CONSOLE_CONTROLLERS_LEASE", "a/"},
      {"CONSOLE_CONTROLLERS_LEASE", "a/b/c"}};
  for (const auto& [name, value] : wrong) {
    const auto refused = read_settings({{name, value}});
    ASSERT_FALSE(refused.ok()) << name << "=" << value;
    EXPECT_NE(refused.error().message.find(name), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace athanor::console::settings_test
