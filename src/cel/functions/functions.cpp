// SPDX-License-Identifier: Apache-2.0
#include "cel/functions/functions.hpp"

#include <array>

#include "base/check.hpp"
#include "kube/text/regex.hpp"

namespace athanor::cel {
namespace {

struct NamedKind {
  std::string_view name{};
  TypeKind kind = TypeKind::Dyn;
};
constexpr std::array<NamedKind, 15> kKinds = {{{"dyn", TypeKind::Dyn},
                                               {"null_type", TypeKind::Null},
                                               {"bool", TypeKind::Bool},
                                               {"int", TypeKind::Int},
                                               {"uint", TypeKind::Uint},
                                               {"double", TypeKind::Double},
                                               {"string", TypeKind::String},
                                               {"bytes", TypeKind::Bytes},
                                               {"type", TypeKind::Type},
                                               {"google.protobuf.Timestamp", TypeKind::Timestamp},
                                               {"google.protobuf.Duration", TypeKind::Duration},
                                               {"list", TypeKind::List},
                                               {"map", TypeKind::Map},
                                               {"timestamp", TypeKind::Timestamp},
                                               {"duration", TypeKind::Duration}}};

constexpr std::array<std::string_view, 11> kOpaque = {"kubernetes.URL",
                                                      "kubernetes.Quantity",
                                                      "kubernetes.Semver",
                                                      "kubernetes.NamedFormat",
                                                      "net.IP",
                                                      "net.CIDR",
                                                      "kubernetes.authorization.Authorizer",
                                                      "kubernetes.authorization.PathCheck",
                                                      "kubernetes.authorization.GroupCheck",
                                                      "kubernetes.authorization.ResourceCheck",
                                                      "kubernetes.authorization.Decision"};

// Signatures: types by name, list(A), map(A, B), optional(A), type(A); one capital is a parameter.
class SignatureParser {
 public:
  explicit SignatureParser(std::string_view text) : rest_(text) {}

  void run(Overload& overload) {
    blanks();
    if (const std::size_t dot = rest_.find(".("); dot != std::string_view::npos) {
      overload.member = true;
      overload.parameters.push_back(type());
      ATHANOR_CHECK(rest_.starts_with(".("), "a member signature is target.(arguments)");
      rest_.remove_prefix(2);
      arguments(overload, ')');
      rest_.remove_prefix(1);
    } else {
      arguments(overload, '-');
    }
    blanks();
    ATHANOR_CHECK(rest_.starts_with("->"), "a signature ends in -> RESULT");
    rest_.remove_prefix(2);
    overload.result = type();
  }

 private:
  void blanks() {
    while (!rest_.empty() && rest_.front() == ' ') {
      rest_.remove_prefix(1);
    }
  }

  void arguments(Overload& overload, char end) {
    blanks();
    while (rest_.front() != end) {
      overload.parameters.push_back(type());
      blanks();
      if (rest_.front() == ',') {
        rest_.remove_prefix(1);
        blanks();
      }
    }
  }

  TypePtr type() {
    blanks();
    std::size_t length = rest_.find_first_of(" ,()-");
    length = length == std::string_view::npos ? rest_.size() : length;
    // "string.(int)": the dot is not of the name
    if (rest_.substr(0, length).ends_with('.')) {
      --length;
    }
    const std::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (name.size() == 1) {
      return param_type(name);
    }
    if (rest_.empty() || rest_.front() != '(') {
      TypePtr named = named_type(name);
      ATHANOR_CHECK(named != nullptr, "signatures name known types");
      return named;
    }
    rest_.remove_prefix(1);
    TypePtr first = type();
    TypePtr second;
    if (name == "map") {
      blanks();
      rest_.remove_prefix(1);
      second = type();
    }
    rest_.remove_prefix(1);
    if (name == "map") {
      return map_type(std::move(first), std::move(second));
    }
    if (name == "list") {
      return list_type(std::move(first));
    }
    return name == "optional" ? optional_type(std::move(first)) : type_type(std::move(first));
  }

  std::string_view rest_;
};

FunctionTable make_table() {
  FunctionTable table;
  add_operators(table);
  add_conversions(table);
  add_time_functions(table);
  add_text_functions(table);
  add_list_functions(table);
  add_optional_functions(table);
  add_regex_functions(table);
  add_url_functions(table);
  add_quantity_functions(table);
  add_network_functions(table);
  add_format_functions(table);
  add_semver_functions(table);
  add_authorizer_functions(table);
  return table;
}

bool accepts_items(const Type& parameter, const Val& value) {
  // list(string) is distinguished from list(int) by the first item: overloads of lists differ in it
  // alone
  if (parameter.kind != TypeKind::List || parameter.parameters.empty()) {
    return true;
  }
  const ListNode& list = *value.as_list();
  return list.size() == 0 || accepts(*parameter.parameters[0], list.at(0));
}

}  // namespace

Result<Runtime::RegexPtr> Runtime::regex(std::string_view expression) {
  for (const RegexMap* map : {&compiled_, static_cast<const RegexMap*>(&own_)}) {
    if (const auto found = map->find(expression); found != map->end()) {
      return found->second;
    }
  }
  // Most of the time goes into the program that the text becomes.
  constexpr std::uint64_t kTicksPerByte = 400;
  if (!meter_.tick(expression.size() * kTicksPerByte)) {
    return Error::bad_request("cost limit exceeded");
  }
  Result<RegexPtr> made = Regex::compile(expression);
  if (!made.ok()) {
    meter_.tick(made.error().code == 413 ? kRefusedRegexBytes : 0);
    return made.error();
  }
  RegexPtr compiled = *std::move(made);
  if (!meter_.make(compiled->size_bytes())) {
    return Error::bad_request("cost limit exceeded");
  }
  own_.emplace(expression, compiled);
  return compiled;
}

const FunctionTable& FunctionTable::get() {
  static const FunctionTable kTable = make_table();
  return kTable;
}

std::span<const Overload> FunctionTable::find(std::string_view function) const {
  const auto found = functions_.find(function);
  return found == functions_.end() ? std::span<const Overload>()
                                   : std::span<const Overload>(found->second);
}

void FunctionTable::add(std::string_view function, std::string_view id, std::string_view signature,
                        Implementation run) {
  Overload overload;
  overload.function = function;
  overload.id = id;
  overload.run = run;
  SignatureParser(signature).run(overload);
  functions_[overload.function].push_back(std::move(overload));
}

TypePtr named_type(std::string_view name) {
  for (const NamedKind& each : kKinds) {
    if (each.name == name) {
      if (each.kind == TypeKind::List) {
        return list_type(simple_type(TypeKind::Dyn));
      }
      return each.kind == TypeKind::Map
                 ? map_type(simple_type(TypeKind::Dyn), simple_type(TypeKind::Dyn))
                 : simple_type(each.kind);
    }
  }
  for (const std::string_view opaque : kOpaque) {
    if (opaque == name) {
      return opaque_type(name);
    }
  }
  return nullptr;
}

bool accepts(const Type& parameter, const Val& value) {
  using Kind = Val::Kind;
  switch (parameter.kind) {
    case TypeKind::Dyn:
    case TypeKind::Error:
    case TypeKind::Param:
      return true;
    case TypeKind::Null:
      return value.is(Kind::Null);
    case TypeKind::Bool:
      return value.is(Kind::Bool);
    case TypeKind::Int:
      return value.is(Kind::Int);
    case TypeKind::Uint:
      return value.is(Kind::Uint);
    case TypeKind::Double:
      return value.is(Kind::Double);
    case TypeKind::String:
      return value.is(Kind::String);
    case TypeKind::Bytes:
      return value.is(Kind::Bytes);
    case TypeKind::Timestamp:
      return value.is(Kind::Timestamp);
    case TypeKind::Duration:
      return value.is(Kind::Duration);
    case TypeKind::Type:
      return value.is(Kind::Type);
    case TypeKind::List:
      return value.is(Kind::List) && accepts_items(parameter, value);
    case TypeKind::Map:
    case TypeKind::Object:
      return value.is(Kind::Map);
    case TypeKind::Optional:
      return value.is(Kind::Optional);
    case TypeKind::Opaque:
      return value.is(Kind::Opaque) && value.as_opaque()->type_name() == parameter.name;
  }
  return false;
}

Val no_such_overload() {
  return Val::error("no such overload");
}

}  // namespace athanor::cel
