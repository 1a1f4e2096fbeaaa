// SPDX-License-Identifier: Apache-2.0
// Cost, memory and time of evaluations: every function of the library, over large arguments and in
// loops, and expressions that multiply what they are given.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cel/functions/functions.hpp"
#include "cel/program.hpp"
#include "cel/values/ast.hpp"
#include "kube/value/value.hpp"

namespace athanor::cel::bounds_test {
namespace {

constexpr std::uint64_t kCost = 25'000;                 // 1.25 ms as Kubernetes counts
constexpr std::size_t kBytes = std::size_t{4} << 20;    // of all values of an evaluation
constexpr std::size_t kLarge = std::size_t{256} << 10;  // bytes of an argument
constexpr std::size_t kManyItems = 5'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlowdown = 10;
constexpr bool kMeasuresMemory = false;
#else
constexpr double kSlowdown = 1;
constexpr bool kMeasuresMemory = true;
#endif
// Without optimisation; without a bound it would be minutes.
constexpr double kMostSeconds = 2 * kSlowdown;
constexpr long kMostKilobytes = 150L << 10;  // that the process grows by

std::string repeated(std::string_view part, std::size_t bytes) {
  if (part.size() == 1) {
    return std::string(bytes, part.front());
  }
  std::string text;
  while (text.size() < bytes) {
    text += part;
  }
  return text;
}

// Lists that share their items: 10^levels leaves in a few bytes.
Val shared_list(int levels) {
  Val list = Val::list(std::vector<Val>(10, Val::integer(1)));
  for (int i = 1; i < levels; ++i) {
    list = Val::list(std::vector<Val>(10, list));
  }
  return list;
}

Val wide_map() {
  std::vector<std::pair<Val, Val>> entries;
  for (std::size_t i = 0; i < kManyItems; ++i) {
    entries.emplace_back(Val::string("key-" + std::to_string(i)), Val::integer(1));
  }
  return Val::map(std::move(entries));
}

// How the operators are written; "": macros alone use it.
const std::map<std::string, std::string, std::less<>>& operator_forms() {
  static const std::map<std::string, std::string, std::less<>> kForms = {{"_+_", "$0 + $1"},
                                                                         {"_-_", "$0 - $1"},
                                                                         {"_*_", "$0 * $1"},
                                                                         {"_/_", "$0 / $1"},
                                                                         {"_%_", "$0 % $1"},
                                                                         {"-_", "-$0"},
                                                                         {"!_", "!$0"},
                                                                         {"_&&_", "$0 && $1"},
                                                                         {"_||_", "$0 || $1"},
                                                                         {"_==_", "$0 == $1"},
                                                                         {"_!=_", "$0 != $1"},
                                                                         {"_<_", "$0 < $1"},
                                                                         {"_<=_", "$0 <= $1"},
                                                                         {"_>_", "$0 > $1"},
                                                                         {"_>=_", "$0 >= $1"},
                                                                         {"@in", "$0 in $1"},
                                                                         {"_[_]", "$0[$1]"},
                                                                         {"_[?_]", "$0[?$1]"},
                                                                         {"_?_:_", "$0 ? $1 : $2"}};
  return kForms;
}

// Functions that no expression can name.
const std::set<std::string, std::less<>>& internal_functions() {
  static const std::set<std::string, std::less<>> kNames = {op::kNotStrictlyFalse, op::kMapInsert,
                                                            op::kSortBy};
  return kNames;
}

// Expressions that make a value of a library's type from the large text `t`.
const std::map<std::string, std::string, std::less<>>& opaque_samples() {
  static const std::map<std::string, std::string, std::less<>> kSamples = {
      {"kubernetes.URL", "url('https://h/?' + t)"},
      {"kubernetes.Quantity", "quantity('1')"},
      {"kubernetes.Semver", "semver('1.0.0-' + t)"},
      {"kubernetes.NamedFormat", "format.dns1123Label()"},
      {"net.IP", "ip('::1')"},
      {"net.CIDR", "cidr('10.0.0.0/8')"},
      {"kubernetes.authorization.Authorizer", "authorizer"},
      {"kubernetes.authorization.PathCheck", "authorizer.path(t)"},
      {"kubernetes.authorization.GroupCheck", "authorizer.group(t)"},
      {"kubernetes.authorization.ResourceCheck", "authorizer.group(t).resource(t)"},
      {"kubernetes.authorization.Decision", "authorizer.path(t).check(t)"}};
  return kSamples;
}

// Sizes of the texts of a call, by argument.
enum class Shape : std::uint8_t { AllLarge, FirstLarge, OthersLarge, OthersEmpty, Directives };

class Call {
 public:
  Call(const Overload& overload, Shape shape) : overload_(overload), shape_(shape) {}

  // The call as an expression, its arguments bound to variables; nullopt: none can be written.
  std::optional<std::string> expression() {
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < overload_.parameters.size(); ++i) {
      arguments.push_back(argument(*overload_.parameters[i], i));
    }
    const auto form = operator_forms().find(overload_.function);
    if (form != operator_forms().end()) {
      std::string text = form->second;
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string place = "$" + std::to_string(i);
        text.replace(text.find(place), place.size(), arguments[i]);
      }
      return "(" + text + ")";
    }
    if (internal_functions().contains(overload_.function)) {
      return std::nullopt;
    }
    std::string text = overload_.member ? arguments[0] + "." : std::string();
    text += overload_.function + "(";
    for (std::size_t i = overload_.member ? 1 : 0; i < arguments.size(); ++i) {
      text += (i == (overload_.member ? 1U : 0U) ? "" : ", ") + arguments[i];
    }
    return text + ")";
  }

  Bindings bindings{};
  Declarations declarations{};

 private:
  std::string text_of(std::size_t index) const {
    const bool first = index == 0;
    switch (shape_) {
      case Shape::AllLarge:
        return repeated("a", kLarge);
      case Shape::FirstLarge:
        return first ? repeated("a", kLarge) : "a";
      case Shape::OthersLarge:
        return first ? "a" : repeated("a", kLarge);
      case Shape::OthersEmpty:
        return first ? repeated("a", kLarge) : "";
      case Shape::Directives:
        return repeated("%s", 200);
    }
    return {};
  }

  std::string bound(std::size_t index, Val value, TypePtr type) {
    std::string name = "a" + std::to_string(index);
    bindings.emplace_back(name, std::move(value));
    declarations.emplace(name, std::move(type));
    return name;
  }

  std::string argument(const Type& type, std::size_t index) {
    static const Val kMap = wide_map();
    const TypePtr dyn = simple_type(TypeKind::Dyn);
    const TypePtr text = simple_type(TypeKind::String);
    switch (type.kind) {
      case TypeKind::String:
        return bound(index, Val::string(text_of(index)), text);
      case TypeKind::Bytes:
        return bound(index, Val::bytes(text_of(index)), simple_type(TypeKind::Bytes));
      case TypeKind::Int:
        return bound(index, Val::integer(1), simple_type(TypeKind::Int));
      case TypeKind::Uint:
        return bound(index, Val::unsigned_integer(1), simple_type(TypeKind::Uint));
      case TypeKind::Double:
        return bound(index, Val::real(1.5), simple_type(TypeKind::Double));
      case TypeKind::Bool:
        return bound(index, Val::boolean(true), simple_type(TypeKind::Bool));
      case TypeKind::Timestamp:
        return bound(index, Val::timestamp(1, 0), simple_type(TypeKind::Timestamp));
      case TypeKind::Duration:
        return bound(index, Val::duration(1), simple_type(TypeKind::Duration));
      case TypeKind::List:
        return list(*type.parameters[0], index);
      case TypeKind::Map:
        return bound(index, kMap, map_type(text, dyn));
      case TypeKind::Optional:
        return bound(index, Val::optional_of(shared_list(8)), optional_type(dyn));
      case TypeKind::Type:
        return "int";
      case TypeKind::Opaque: {
        const auto sample = opaque_samples().find(type.name);
        EXPECT_NE(sample, opaque_samples().end()) << "no sample of " << type.name;
        return sample == opaque_samples().end() ? "null" : sample->second;
      }
      default:  // of any type
        return shape_ == Shape::FirstLarge ? bound(index, Val::string("key-1"), dyn)
                                           : bound(index, shared_list(8), dyn);
    }
  }

  std::string list(const Type& item, std::size_t index) {
    if (item.kind == TypeKind::String) {
      return bound(index, Val::list(std::vector<Val>(kManyItems, Val::string(repeated("a", 1000)))),
                   list_type(simple_type(TypeKind::String)));
    }
    static const std::map<TypeKind, Val> kItems = {
        {TypeKind::Int, Val::integer(0)},
        {TypeKind::Uint, Val::unsigned_integer(0)},
        {TypeKind::Double, Val::real(0)},
        {TypeKind::Bool, Val::boolean(true)},
        {TypeKind::Bytes, Val::bytes(repeated("a", 1000))},
        {TypeKind::Timestamp, Val::timestamp(0, 0)},
        {TypeKind::Duration, Val::duration(0)},
    };
    const auto found = kItems.find(item.kind);
    return bound(index,
                 Val::list(std::vector<Val>(
                     kManyItems, found == kItems.end() ? shared_list(8) : found->second)),
                 list_type(simple_type(found == kItems.end() ? TypeKind::Dyn : item.kind)));
  }

  const Overload& overload_;
  Shape shape_;
};

// Of this thread: others may have the processor meanwhile.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

long peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Evaluates within kCost and kBytes.
void expect_bounded(const std::string& expression, Bindings bindings, Declarations declarations) {
  static const Val kText = Val::string(repeated("a", kLarge));
  static const Val kLoop = Val::list(std::vector<Val>(2'000, Val::integer(1)));
  bindings.emplace_back("t", kText);
  bindings.emplace_back("many", kLoop);
  bindings.emplace_back("authorizer", authorizer_value());
  declarations.emplace("t", simple_type(TypeKind::String));
  declarations.emplace("many", list_type(simple_type(TypeKind::Int)));
  declarations.emplace("authorizer", named_type("kubernetes.authorization.Authorizer"));
  const auto program = Program::compile(expression, declarations);
  ASSERT_TRUE(program.ok()) << expression << ": " << program.error().message;
  const double began = cpu_seconds();
  const Evaluation done = (*program)->evaluate(bindings, {.cost = kCost, .bytes = kBytes});
  EXPECT_LT(cpu_seconds() - began, kMostSeconds) << expression << " cost " << done.cost;
  EXPECT_LE(done.made, 2 * kBytes + 4 * kLarge) << expression;
  if (!done.value.is_error()) {
    EXPECT_LE(done.made, kBytes) << expression;
    EXPECT_LE(done.cost, kCost) << expression;
  }
  EXPECT_LE(done.value.is_error() ? done.value.text().size() : 0, 10'000U) << expression;
}

TEST(Bounds, HoldForEveryFunction) {
  const long before = peak_kilobytes();
  std::set<std::pair<std::string, Implementation>> seen;  // one of those that differ in types alone
  for (const auto& [function, overloads] : FunctionTable::get().all()) {
    for (const Overload& overload : overloads) {
      if (overload.run != nullptr && !seen.emplace(function, overload.run).second) {
        continue;
      }
      for (const Shape shape : {Shape::AllLarge, Shape::FirstLarge, Shape::OthersLarge,
                                Shape::OthersEmpty, Shape::Directives}) {
        Call call(overload, shape);
        const auto expression = call.expression();
        if (!expression) {
          continue;
        }
        SCOPED_TRACE(overload.id);
        expect_bounded("dyn(" + *expression + ") == 'x' || true", call.bindings, call.declarations);
        expect_bounded("many.map(i, dyn(" + *expression + ")).size() > 0", call.bindings,
                       call.declarations);
      }
    }
  }
  if (kMeasuresMemory) {
    EXPECT_LT(peak_kilobytes() - before, kMostKilobytes);
  }
}

struct Bomb {
  const char* name = nullptr;
  std::string expression{};
};

std::string nested_format(int levels, int arguments) {
  std::string expression = "t";
  for (int level = 0; level < levels; ++level) {
    std::string list;
    for (int i = 0; i < arguments; ++i) {
      list += i == 0 ? "x" : ",x";
    }
    expression = "[" + expression + "].map(x, '" +
                 repeated("%s", 2 * static_cast<std::size_t>(arguments)) + "'.format([" + list +
                 "]))[0]";
  }
  return expression + ".size() > 0";
}

// Applies `step`, an expression over x, again and again.
std::string again(int times, const std::string& start, const std::string& step) {
  std::string expression = start;
  for (int i = 0; i < times; ++i) {
    expression = "[" + expression + "].map(x, " + step + ")[0]";
  }
  return expression;
}

std::vector<Bomb> bombs() {
  std::string both = "true";
  for (int i = 0; i < 200; ++i) {
    both += " && true";
  }
  return {
      {"format of format", nested_format(3, 100)},
      {"doubled texts", again(40, "'ab'", "x + x") + ".size() > 0"},
      {"doubled lists", again(40, "[1]", "x + x") + ".size() > 0"},
      {"doubled bytes", again(40, "b'ab'", "x + x") + ".size() > 0"},
      {"shared lists as text", "'%s'.format([" + again(40, "dyn([1])", "dyn([x, x])") + "]) == ''"},
      {"shared lists compared",
       "[" + again(40, "dyn([1])", "dyn([x, x])") + "].all(x, x == x && x != [x])"},
      {"shared lists found", "[" + again(40, "dyn([1])", "dyn([x, x])") + "].all(x, [x] in [[x]])"},
      {"shared lists in a set",
       "[" + again(40, "dyn([1])", "dyn([x, x])") + "].all(x, sets.contains([x, x], [x, x]))"},
      {"shared maps compared",
       "[" + again(40, "dyn({'a': 1})", "dyn({'a': x, 'b': x})") + "].all(x, x == x)"},
      {"joined", again(6, "'ab'", "many.map(i, x).join(x)") + ".size() > 0"},
      {"replaced", again(6, "'ab'", "x.replace('', x)") + ".size() > 0"},
      {"quoted", again(40, "'\\\\'", "strings.quote(x)") + ".size() > 0"},
      {"split", "many.all(i, t.split('').size() > 0)"},
      {"matches found", "many.all(i, t.findAll('a').size() > 0)"},
      {"loops in loops", "many.map(a, many.map(b, many.map(c, many))).size() > 0"},
      {"lists of texts", "many.map(a, t + t).size() > 0"},
      {"conditions without a price", "many.all(i, many.all(j, " + both + "))"},
      {"expressions made at run time",
       "many.all(i, 'a'.matches('(\\\\pL{500}){' + string(i) + ',}'))"},
      {"a large map", "many.map(i, i).transformMap(i, v, t).size() == many.size()"},
      {"a large map of large keys",
       "many.transformMapEntry(i, v, {t + string(i): t}).size() == many.size()"},
      {"one map in a many", "many.all(i, many.transformMap(j, v, v).size() > 0)"},
      {"needles", "many.all(i, (t + 'b').contains(t.substring(1000) + 'c') || true)"},
      {"needles from the end", "many.all(i, t.lastIndexOf('b' + t.substring(1000)) < 0)"},
      {"needles split", "many.all(i, t.split(t.substring(1000) + 'b').size() > 0)"},
      {"time zones", "many.all(i, timestamp(0).getHours('Europe/Berlin') >= 0)"},
      {"ignored errors", "many.all(i, int(t) == 1 || true)"},
      {"sorted by texts", "many.sortBy(i, t + string(i)).size() > 0"},
      {"flattened", again(40, "dyn([1])", "dyn([x, x])") + ".flatten(50).size() > 0"},
      {"a large range", "lists.range(9223372036854775807).size() > 0"},
      {"distinct lists", "many.map(i, [i]).distinct().size() == many.size()"},
  };
}

TEST(Bounds, HoldForExpressionsThatMultiply) {
  const long before = peak_kilobytes();
  for (const Bomb& bomb : bombs()) {
    SCOPED_TRACE(bomb.name);
    expect_bounded(bomb.expression, {}, {});
  }
  if (kMeasuresMemory) {
    EXPECT_LT(peak_kilobytes() - before, kMostKilobytes);
  }
}

// A loop over an object's members takes one after the other.
TEST(Bounds, HoldForLoopsOverJson) {
  Value wide = Value::object();
  for (int i = 0; i < 5'000; ++i) {
    wide.set("key-" + std::to_string(i), i);
  }
  const Bindings bindings = {{"o", adapt(wide)}};
  const Declarations declarations = {{"o", simple_type(TypeKind::Dyn)}};
  for (const char* const expression :
       {"o.all(a, o.exists(b, true))", "o.all(k, v, o.exists(b, c, true))", "o.all(k, o == o)",
        "o.all(k, o[k] == o[k])"}) {
    expect_bounded(expression, bindings, declarations);
  }
}

// What Kubernetes accepts must not fail for what it does not count.
TEST(Bounds, LeaveRoomForLargeObjects) {
  Value items = Value::list();
  for (int i = 0; i < 3'000; ++i) {
    items.push_back(Value::object({{"name", "item-" + std::to_string(i)}, {"size", i}}));
  }
  const Bindings bindings = {{"self", adapt(Value::object({{"items", items}}))},
                             {"t", Val::string(repeated("a", std::size_t{1} << 20))}};
  const Declarations declarations = {{"self", simple_type(TypeKind::Dyn)},
                                     {"t", simple_type(TypeKind::String)}};
  for (const char* const expression :
       {"self.items.all(i, i.name.startsWith('item-') && i.size >= 0)",
        "self.items.map(i, i.name).all(n, n.size() < 20)",
        "self == self && self.items == self.items",
        "self.items.map(i, i.name + '-' + string(i.size)).join(',').size() > 0",
        "self.items.transformMap(i, v, v.name).size() == 3000",
        "'%s'.format([self.items]).size() > 0", "(t + t + t).lowerAscii().size() > 0",
        "t.replace('a', 'bc').size() > 0", "!t.matches('b+c')"}) {
    const auto program = Program::compile(expression, declarations);
    ASSERT_TRUE(program.ok()) << expression << program.error().message;
    const Evaluation done = (*program)->evaluate(bindings);
    EXPECT_TRUE(done.value.is_true())
        << expression << ": " << done.value.text() << " " << done.cost;
  }
}

// The price of Kubernetes counts where it is the higher one; errors do not carry whole inputs.
TEST(Bounds, CutErrorTexts) {
  const std::string text = repeated("é", 100'000);
  const auto program = Program::compile("{'a': 1}[t] == 1", {{"t", simple_type(TypeKind::String)}});
  ASSERT_TRUE(program.ok());
  const Evaluation done = (*program)->evaluate({{"t", Val::string(text)}});
  ASSERT_TRUE(done.value.is_error());
  EXPECT_LT(done.value.text().size(), 9'000U);
  EXPECT_TRUE(done.value.text().ends_with("é..."));
}

// Compiling is bounded by the text, whatever it says.
TEST(Bounds, HoldForCompiling) {
  const std::string patterns = [] {
    std::string all = "true";
    for (int i = 0; i < 200; ++i) {
      all += " && t.matches('\\\\pL{99" + std::to_string(i % 10) + "}" + std::to_string(i) + "')";
    }
    return all;
  }();
  const std::string types = again(200, "1", "{x: x}") + " == 1";
  const std::string lists = again(200, "1", "[x]") + " == 1";
  for (const std::string& expression : {patterns, types, lists}) {
    const double began = cpu_seconds();
    const auto program = Program::compile(expression, {{"t", simple_type(TypeKind::String)}});
    EXPECT_LT(cpu_seconds() - began, kMostSeconds) << expression.substr(0, 100);
  }
}

}  // namespace
}  // namespace athanor::cel::bounds_test
