// SPDX-License-Identifier: Apache-2.0
// Differences as JSON patches.
#include "runtime/view/admission.hpp"

#include <algorithm>

namespace athanor {

namespace {

// A member's name as a part of a JSON pointer.
std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

void compare(const std::string& path, const Value& before, const Value& after, int depth,
             Value& patch) {
  if (before == after) {
    return;
  }
  if (depth == 0 || !before.is_object() || !after.is_object()) {
    patch.push_back(Value::object({{"op", "replace"}, {"path", path}, {"value", after}}));
    return;
  }
  for (const Member& member : before.members()) {
    if (!after.contains(member.key())) {
      patch.push_back(
          Value::object({{"op", "remove"}, {"path", path + "/" + escaped(member.key())}}));
    }
  }
  for (const Member& member : after.members()) {
    const std::string at = path + "/" + escaped(member.key());
    if (const Value* old = before.find(member.key())) {
      compare(at, *old, member.value, depth - 1, patch);
    } else {
      patch.push_back(Value::object({{"op", "add"}, {"path", at}, {"value", member.value}}));
    }
  }
}

}  // namespace

Verdict Verdict::refuse(const Error& error) {
  constexpr std::string_view kPreamble = "admission webhook \"";
  constexpr std::string_view kDenied = "\" denied the request: ";
  std::string_view message = error.message;
  const std::size_t end = message.find(kDenied);
  if (message.starts_with(kPreamble) && end != std::string_view::npos) {
    message.remove_prefix(end + kDenied.size());
  }
  return {.allowed = false,
          .code = error.code,
          .reason = error.reason,
          .message = std::string(message)};
}

std::string Verdict::denial_reason() const {
  if (!reason.empty()) {
    return reason;
  }
  switch (code) {
    case 400:
      return "BadRequest";
    case 404:
      return "NotFound";
    case 409:
      return "Conflict";
    case 422:
      return "Invalid";
    case 500:
      return "InternalError";
    default:
      return "Forbidden";
  }
}

std::string Webhook::url_path() const {
  return path.empty() ? "/" + std::string(name) : std::string(path);
}

Verdict Verdict::change(const Value& before, const Value& after) {
  constexpr int kDepth = 2;  // the root's members, and theirs
  Verdict verdict;
  Value patch = Value::list();
  compare("", before, after, kDepth, patch);
  if (!patch.empty()) {
    verdict.patch = std::move(patch);
  }
  return verdict;
}

}  // namespace athanor
