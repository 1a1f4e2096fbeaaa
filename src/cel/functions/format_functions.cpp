// SPDX-License-Identifier: Apache-2.0
// format.dns1123Label().validate(text) and the other named formats.
#include <array>
#include <string>
#include <utility>

#include "cel/functions/functions.hpp"
#include "kube/names/names.hpp"
#include "kube/text/formats.hpp"

namespace athanor::cel {
namespace {

using Check = NameError (*)(std::string_view text);

template <NameError (*kCheck)(std::string_view)>
NameError prefix_check(std::string_view text) {
  return kCheck(masked_generate_name(text));
}

NameError formatted(std::string_view format, std::string_view text, const char* problem) {
  return matches_format(format, text) ? std::nullopt : NameError(problem);
}

NameError uri(std::string_view text) {
  return matches_format("uri", text)
             ? std::nullopt
             : NameError("parse \"" + std::string(text) + "\": invalid URI for request");
}
NameError uuid(std::string_view text) {
  return formatted("uuid", text, "does not match the UUID format");
}
NameError byte(std::string_view text) {
  return formatted("byte", text, "invalid base64");
}
NameError date(std::string_view text) {
  return formatted("date", text, "invalid date");
}
NameError datetime(std::string_view text) {
  return formatted("datetime", text, "invalid datetime");
}

struct NamedFormat {
  std::string_view name{};
  Check check = nullptr;
};

constexpr std::array<NamedFormat, 13> kFormats = {
    {{"dns1123Label", validate_dns1123_label},
     {"dns1123Subdomain", validate_dns1123_subdomain},
     {"dns1035Label", validate_dns1035_label},
     {"qualifiedName", validate_qualified_name},
     {"dns1123LabelPrefix", prefix_check<validate_dns1123_label>},
     {"dns1123SubdomainPrefix", prefix_check<validate_dns1123_subdomain>},
     {"dns1035LabelPrefix", prefix_check<validate_dns1035_label>},
     {"labelValue", validate_label_value},
     {"uri", uri},
     {"uuid", uuid},
     {"byte", byte},
     {"date", date},
     {"datetime", datetime}}};

struct FormatNode final : OpaqueNode {
  explicit FormatNode(const NamedFormat& named) : format(named) {}
  [[nodiscard]] std::string_view type_name() const override { return "kubernetes.NamedFormat"; }
  [[nodiscard]] bool equals(const OpaqueNode& other) const override {
    return &format == &static_cast<const FormatNode&>(other).format;
  }

  const NamedFormat& format;
};

Val named(Arguments a, Runtime&) {
  for (const NamedFormat& format : kFormats) {
    if (format.name == a[0].text()) {
      return Val::optional_of(Val::opaque(std::make_shared<FormatNode>(format)));
    }
  }
  return Val::optional_none();
}

template <std::size_t kIndex>
Val constant(Arguments, Runtime&) {
  return Val::opaque(std::make_shared<FormatNode>(kFormats[kIndex]));
}

Val validate(Arguments a, Runtime&) {
  const auto& node = static_cast<const FormatNode&>(*a[0].as_opaque());
  const NameError problem = node.format.check(a[1].text());
  return problem ? Val::optional_of(Val::list({Val::string(*problem)})) : Val::optional_none();
}

template <std::size_t... kIndices>
void add_constants(FunctionTable& table, std::index_sequence<kIndices...>) {
  (table.add("format." + std::string(kFormats[kIndices].name),
             "format." + std::string(kFormats[kIndices].name), "-> kubernetes.NamedFormat",
             constant<kIndices>),
   ...);
}

}  // namespace

void add_format_functions(FunctionTable& table) {
  table.add("format.named", "format-named", "string -> optional(kubernetes.NamedFormat)", named);
  table.add("validate", "format-validate",
            "kubernetes.NamedFormat.(string) -> optional(list(string))", validate);
  add_constants(table, std::make_index_sequence<kFormats.size()>());
}

}  // namespace athanor::cel
