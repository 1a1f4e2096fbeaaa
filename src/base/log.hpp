// SPDX-License-Identifier: Apache-2.0
// Structured log records to stderr: coloured text on a terminal, one JSON object per line
// otherwise. Never pass secrets or whole objects. Thread-safe. Rate-limited per message, a
// literal: 10 a second.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace athanor::log {

enum class Level : std::uint8_t { Error, Warn, Info, Debug, Trace };
enum class Format : std::uint8_t { Auto, Text, Json };

// One name=value pair of a record; numbers are printed by the caller's choice of overload.
struct Field {
  std::string_view name{};
  std::string value{};
  Field(std::string_view field_name, std::string text) : name(field_name), value(std::move(text)) {}
  Field(std::string_view field_name, std::string_view text) : name(field_name), value(text) {}
  Field(std::string_view field_name, const char* text) : name(field_name), value(text) {}
  Field(std::string_view field_name, std::int64_t number);
  Field(std::string_view field_name, std::uint64_t number);
  Field(std::string_view field_name, int number)
      : Field(field_name, static_cast<std::int64_t>(number)) {}
};
using Fields = std::initializer_list<Field>;

// Sets level and format for the process; called once by main.
void configure(Level level, Format format);
[[nodiscard]] bool enabled(Level level);
void write(Level level, std::string_view message, Fields fields = {});
// Writes a record that no rate limits: its text names an object, and each is wanted.
void write_always(Level level, std::string_view message, Fields fields = {});
inline void error(std::string_view message, Fields fields = {}) {
  write(Level::Error, message, fields);
}
inline void warn(std::string_view message, Fields fields = {}) {
  write(Level::Warn, message, fields);
}
inline void info(std::string_view message, Fields fields = {}) {
  write(Level::Info, message, fields);
}
inline void debug(std::string_view message, Fields fields = {}) {
  write(Level::Debug, message, fields);
}

}  // namespace athanor::log
