// SPDX-License-Identifier: Apache-2.0
// Name rules as character classes; the texts quote the regular expressions that the reference uses.
#include "kube/names/names.hpp"

#include <algorithm>
#include <utility>

namespace athanor {
namespace {

constexpr std::size_t kMaxSubdomain = 253;
constexpr std::size_t kMaxLabel = 63;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower_alnum(char c) {
  return is_lower(c) || is_digit(c);
}
bool is_alnum(char c) {
  return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool is_dns_label(std::string_view text) {
  return !text.empty() && is_lower_alnum(text.front()) && is_lower_alnum(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_lower_alnum(c) || c == '-'; });
}

// Labels with dots between them.
bool is_dns_subdomain(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot))) {
      return false;
    }
    if (dot == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(dot + 1);
  }
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool is_qualified_part(std::string_view text) {
  return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string too_long(std::size_t limit) {
  return "must be no more than " + std::to_string(limit) + " bytes";
}

// DNS names count characters.
std::string too_many_characters(std::size_t limit) {
  return "must be no more than " + std::to_string(limit) + " characters";
}

constexpr std::string_view kSubdomainText =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelText =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kDns1035Text =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kQualifiedText =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation "
    "is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueText =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

}  // namespace

NameError validate_dns1123_subdomain(std::string_view text) {
  if (text.size() > kMaxSubdomain) {
    return too_many_characters(kMaxSubdomain);
  }
  return is_dns_subdomain(text) ? NameError() : NameError(kSubdomainText);
}

NameError validate_dns1123_label(std::string_view text) {
  if (text.size() > kMaxLabel) {
    return too_many_characters(kMaxLabel);
  }
  return is_dns_label(text) ? NameError() : NameError(kLabelText);
}

NameError validate_dns1035_label(std::string_view text) {
  if (text.size() > kMaxLabel) {
    return too_many_characters(kMaxLabel);
  }
  return is_dns_label(text) && is_lower(text.front()) ? NameError() : NameError(kDns1035Text);
}

NameError validate_path_segment(std::string_view text) {
  if (text == "." || text == "..") {
    return "may not be '" + std::string(text) + "'";
  }
  for (const char c : {'/', '%'}) {
    if (text.find(c) != std::string_view::npos) {
      return std::string("may not contain '") + c + "'";
    }
  }
  return std::nullopt;
}

std::vector<std::string> qualified_name_errors(std::string_view text) {
  std::vector<std::string> errors;
  std::string_view name = text;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      return {"a valid label key " + std::string(kQualifiedText) +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    const std::string_view prefix = text.substr(0, slash);
    if (prefix.empty()) {
      errors.emplace_back("prefix part must be non-empty");
    } else if (const NameError error = validate_dns1123_subdomain(prefix)) {
      errors.push_back("prefix part " + *error);
    }
  }
  if (name.empty()) {
    errors.emplace_back("name part must be non-empty");
  } else if (name.size() > kMaxLabel) {
    errors.push_back("name part " + too_long(kMaxLabel));
  }
  if (!is_qualified_part(name)) {
    errors.push_back("name part " + std::string(kQualifiedText));
  }
  return errors;
}

NameError validate_qualified_name(std::string_view text) {
  std::vector<std::string> errors = qualified_name_errors(text);
  return errors.empty() ? NameError() : NameError(std::move(errors.front()));
}

NameError validate_label_key(std::string_view text) {
  return validate_qualified_name(text);
}

NameError validate_label_value(std::string_view text) {
  if (text.size() > kMaxLabel) {
    return too_long(kMaxLabel);
  }
  return text.empty() || is_qualified_part(text) ? NameError() : NameError(kLabelValueText);
}

NameError validate_annotation_key(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return validate_qualified_name(lower);
}

NameError validate_finalizer(std::string_view text) {
  if (NameError error = validate_qualified_name(text)) {
    return error;
  }
  const bool standard = text == "orphan" || text == "foregroundDeletion" || text == "kubernetes";
  if (!standard && text.find('/') == std::string_view::npos) {
    return "name is neither a standard finalizer name nor is it fully qualified";
  }
  return std::nullopt;
}

std::string masked_generate_name(std::string_view prefix) {
  std::string name(prefix);
  if (name.size() > 1 && name.back() == '-') {
    name.back() = 'a';
  }
  return name;
}

}  // namespace athanor
