// SPDX-License-Identifier: Apache-2.0
// What expressions are worth: values and errors of the language and its libraries.
#include <gtest/gtest.h>

#include <string>

#include "cel/program.hpp"
#include "kube/text/json.hpp"

namespace athanor::cel::evaluate_test {
namespace {

struct Case {
  const char* expression = nullptr;
  const char* error = nullptr;  // nullptr: the expression is true
};

void PrintTo(const Case& row, std::ostream* out) {
  *out << row.expression;
}

class Evaluate : public ::testing::TestWithParam<Case> {};

TEST_P(Evaluate, IsTrueOrFailsWithTheText) {
  const auto object = json::parse(
      R"({"name":"web","n":3,"big":18446744073709551615,"half":0.5,"yes":true,"nothing":null,
          "list":[1,2,3],"names":["a","b"],"map":{"a":1,"b-c":2},"items":[{"k":"x","v":1},{"k":"y"}],
          "port":"http"})");
  const auto program =
      Program::compile(GetParam().expression, {{"object", simple_type(TypeKind::Dyn)}});
  ASSERT_TRUE(program.ok()) << program.error().message;
  const Evaluation done = (*program)->evaluate({{"object", adapt(*object)}});
  if (GetParam().error == nullptr) {
    EXPECT_TRUE(done.value.is_true()) << done.value.text() << " " << type_name(done.value);
  } else {
    ASSERT_TRUE(done.value.is_error());
    EXPECT_EQ(done.value.text(), GetParam().error);
  }
}

constexpr Case kLanguage[] = {
    {"1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 / 2 == 3 && -7 % 3 == -1 && 5 - 3 - 1 == 1"},
    {"1.5 + 2.0 == 3.5 && 1u + 2u == 3u && 0x1F == 31 && -0x10 == -16 && 1e3 == 1000.0"},
    {"-9223372036854775808 < 0"},
    {"9223372036854775807 + 1 == 0", "integer overflow"},
    {"1u - 2u == 0u", "unsigned integer overflow"},
    {"-(-9223372036854775808) == 0", "integer overflow"},
    {"1 / 0 == 0", "division by zero"},
    {"1 % 0 == 0", "modulus by zero"},
    {"1.0 / 0.0 > 1e308"},
    {"'a' + 'b' == \"ab\" && '''a\nb''' == 'a\\nb' && r'\\d' == '\\\\d' && '\\u00e9'.size() == 1"},
    {"b'abc' == bytes('abc') && b'\\xff'.size() == 1 && '\\101' == 'A'"},
    {"[1] + [2, 3] == [1, 2, 3] && 2 in [1, 2] && !(5 in [1, 2]) && 'a' in {'a': 1}"},
    {"{'a': 1, 'b': 2}['b'] == 2 && {'a': 1}.a == 1 && [4, 5][1] == 5"},
    {"[1, 2][2] == 0", "index out of bounds: 2"},
    {"{'a': 1}['b'] == 0", "no such key: b"},
    {"object.missing == 1", "no such key: missing"},
    {"object.name.first == 1", "no such key: first"},
    {"has(object.name) && !has(object.missing) && !has(object.map.zz)"},
    {"has(object.missing.deeper)", "no such key: missing"},
    {"true || object.missing == 1"},
    {"object.missing == 1 || true"},
    {"!(false && object.missing) && !(object.missing && false)"},
    {"object.missing || false", "no such key: missing"},
    {"true && dyn(1)", "no such overload"},
    {"object.yes ? object.n == 3 : object.missing == 2"},
    {"dyn(1) ? true : false", "no such overload"},
    {"dyn(1) + dyn('a') == 1", "no such overload"},
    {"dyn(1).startsWith('a')", "no such overload: startsWith(int, string)"},
    {"1 < 2 && 2 <= 2 && 3 > 2 && 'a' < 'b' && b'a' < b'b' && false < true && 1.5 >= 1.5"},
    {"1 < 2.5 && 3u > 1 && 2 == dyn(2.0) && dyn(1u) == 1 && dyn(1) != dyn('1')"},
    {"dyn([1, 2]) == [1.0, 2.0] && {'a': 1} == {'a': dyn(1.0)}"},
    {"object.big == 18446744073709551615u && object.half == 0.5 && object.nothing == null"},
    {"type(1) == int && type('a') == string && type([]) == list && type({}) == map"},
    {"type(null) == null_type && type(type(1)) == type && type(1u) == uint && type(b'') == bytes"},
    {"type(timestamp('2026-01-01T00:00:00Z')) == google.protobuf.Timestamp"},
    {"int('42') == 42 && int(3.9) == 3 && int(7u) == 7 && uint(3) == 3u && double('1.5') == 1.5"},
    {"int('x') == 0", "type conversion error from 'string' to 'int'"},
    {"uint(-1) == 0u", "unsigned integer overflow"},
    {"int(1e30) == 0", "integer overflow"},
    {"string(1) == '1' && string(1.5) == '1.5' && string(true) == 'true' && string(b'x') == 'x'"},
    {"string(duration('90m')) == '5400s' && string(1e21) == '1e+21'"},
    {"bool('true') && !bool('False')"},
    {"size('h\\u00e9') == 2 && 'abc'.size() == 3 && size([1]) == 1 && {'a': 1}.size() == 1"},
};
INSTANTIATE_TEST_SUITE_P(Language, Evaluate, ::testing::ValuesIn(kLanguage));

constexpr Case kMacros[] = {
    {"[1, 2, 3].all(x, x > 0) && ![1, 2].all(x, x > 1) && [].all(x, false)"},
    {"[1, 2].exists(x, x == 2) && ![1].exists(x, x == 2) && ![].exists(x, true)"},
    {"[1, 2].exists_one(x, x == 2) && ![2, 2].exists_one(x, x == 2)"},
    {"[1, 2, 3].map(x, x * 2) == [2, 4, 6] && [1, 2, 3].map(x, x > 1, x * 2) == [4, 6]"},
    {"[1, 2, 3].filter(x, x > 1) == [2, 3] && {'a': 1, 'b': 2}.filter(k, k == 'b') == ['b']"},
    {"{'a': 1, 'b': 2}.all(k, k < 'c') && object.map.exists(k, object.map[k] == 2)"},
    {"object.items.all(i, has(i.k)) && object.items.exists(i, has(i.v) && i.v == 1)"},
    {"object.items.all(i, i.v == 1)", "no such key: v"},
    {"object.items.exists(i, i.v == 1)"},
    {"[1, 'a'.size()].all(x, [x, 2].exists(y, y == x))"},
    {"[1, 2].all(i, v, i + 1 == v) && {'a': 1}.all(k, v, k == 'a' && v == 1)"},
    {"[5, 6].exists(i, v, i == 1 && v == 6) && {'a': 1}.existsOne(k, v, v == 1)"},
    {"[1, 2].transformList(i, v, i * 10 + v) == [1, 12]"},
    {"[1, 2].transformList(i, v, v > 1, i * 10 + v) == [12]"},
    {"{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}"},
    {"{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) == {'b': 2}"},
    {"{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}"},
    {"{'a': 'x', 'b': 'x'}.transformMapEntry(k, v, {v: k}) == {}",
     "insert failed: key x already exists"},
    {"[[1, 2], [3]].map(l, l.map(x, x + 1)) == [[2, 3], [4]]"},
    {"dyn(1).all(x, true)", "got 'int', expected iterable type"},
};
INSTANTIATE_TEST_SUITE_P(Macros, Evaluate, ::testing::ValuesIn(kMacros));

constexpr Case kListFunctions[] = {
    {"[1, 2, 3, 4].slice(1, 3) == [2, 3] && [1].slice(1, 1) == []"},
    {"[1].slice(-1, 1) == []", "cannot slice(-1, 1), negative indexes not supported"},
    {"[1].slice(1, 0) == []",
     "cannot slice(1, 0), start index must be less than or equal to end index"},
    {"[1].slice(0, 2) == []", "cannot slice(0, 2), list is length 1"},
    {"[[1], [2, 3], []].flatten() == [1, 2, 3]"},
    {"[dyn(1), dyn([dyn(2), dyn([3])])].flatten(1) == [dyn(1), dyn(2), dyn([3])]"},
    {"[dyn(1), dyn([dyn(2), dyn([3])])].flatten(2) == [1, 2, 3]"},
    {"[[1]].flatten(-1) == []", "level must be non-negative"},
    {"[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].sort() == ['a', 'b'] && [].sort() == []"},
    {"[dyn(1), dyn('a')].sort() == []", "list elements must have the same type"},
    {"[{'n': 2}, {'n': 1}].sortBy(e, e.n) == [{'n': 1}, {'n': 2}]"},
    {"['aaa', 'b', 'cc'].sortBy(s, -s.size()) == ['aaa', 'cc', 'b'] && object.list.sortBy(x, "
     "-x)[0] == 3"},
    {"lists.range(4) == [0, 1, 2, 3] && lists.range(-1) == [] && lists.range(0).size() == 0"},
    {"[1, 2, 3].reverse() == [3, 2, 1] && 'abc'.reverse() == 'cba'"},
    {"[dyn(1), dyn(2), dyn(1.0), dyn('a'), dyn('a'), dyn([1]), dyn([1])].distinct() == "
     "[dyn(1), dyn(2), dyn('a'), dyn([1])]"},
    {"object.names.distinct().size() == 2"},
};
INSTANTIATE_TEST_SUITE_P(ListFunctions, Evaluate, ::testing::ValuesIn(kListFunctions));

constexpr Case kOptionals[] = {
    {"object.?name.orValue('x') == 'web' && object.?missing.orValue('x') == 'x'"},
    {"object.?missing.deeper.orValue(7) == 7 && object.?map.a.orValue(7) == 1"},
    {"object.list[?0].orValue(9) == 1 && object.list[?7].orValue(9) == 9"},
    {"object.?list[1].orValue(9) == 2 && object.map[?'zz'].orValue(0) == 0"},
    {"optional.of(1).hasValue() && !optional.none().hasValue() && optional.of(1).value() == 1"},
    {"optional.none().value() == 1", "optional.none() dereference"},
    {"!optional.ofNonZeroValue('').hasValue() && optional.ofNonZeroValue(2).value() == 2"},
    {"optional.none().or(optional.of(3)).value() == 3"},
    {"optional.of(2).optMap(x, x * 2).value() == 4 && !optional.none().optMap(x, x).hasValue()"},
    {"optional.of(2).optFlatMap(x, optional.of(x + 1)).value() == 3"},
    {"optional.of(1) == optional.of(1) && optional.none() == optional.none()"},
    {"[?optional.of(1), ?optional.none()] == [1] && {?'a': optional.none()} == {}"},
    {"has(object.?map.a) && !has(object.?map.zz)"},
};
INSTANTIATE_TEST_SUITE_P(Optionals, Evaluate, ::testing::ValuesIn(kOptionals));

constexpr Case kTimes[] = {
    {"timestamp('2026-11-20T10:20:35.5Z').getFullYear() == 2026"},
    {"timestamp('2026-11-20T10:20:35.5Z').getMonth() == 10"},
    {"timestamp('2026-11-20T10:20:35.5Z').getDate() == 20"},
    {"timestamp('2026-11-20T10:20:35.5Z').getDayOfMonth() == 19"},
    {"timestamp('2026-11-20T10:20:35.5Z').getDayOfWeek() == 5"},
    {"timestamp('2026-01-02T00:00:00Z').getDayOfYear() == 1"},
    {"timestamp('2026-11-20T10:20:35.5Z').getHours('+02:00') == 12"},
    {"timestamp('2026-11-20T10:20:35Z').getHours('Europe/Berlin') == 11"},
    {"timestamp('2026-07-20T10:20:35Z').getHours('Europe/Berlin') == 12"},
    {"timestamp('2026-11-20T23:30:00Z').getDate('Asia/Kolkata') == 21"},
    {"timestamp('2026-11-20T10:20:35.5Z').getMilliseconds() == 500"},
    {"timestamp('2026-11-20T10:20:35+01:00') == timestamp('2026-11-20T09:20:35Z')"},
    {"timestamp('2026-01-01T00:00:00Z') + duration('24h') == timestamp('2026-01-02T00:00:00Z')"},
    {"timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h')"},
    {"duration('1h30m').getMinutes() == 90 && duration('1.5s').getMilliseconds() == 500"},
    {"duration('1h') < duration('90m') && duration('1m') + duration('1s') == duration('61s')"},
    {"string(timestamp('2026-11-20T10:20:35.120Z')) == '2026-11-20T10:20:35.12Z'"},
    {"int(timestamp('1970-01-01T00:01:00Z')) == 60 && timestamp(60).getMinutes() == 1"},
    {"timestamp(object.name) == timestamp(0)",
     "type conversion error from 'string' to 'google.protobuf.Timestamp'"},
    {"timestamp('9999-12-31T23:59:59Z') + duration('1h') == timestamp(0)", "timestamp overflow"},
};
INSTANTIATE_TEST_SUITE_P(Times, Evaluate, ::testing::ValuesIn(kTimes));

constexpr Case kTexts[] = {
    {"'hello'.startsWith('he') && 'hello'.endsWith('lo') && 'hello'.contains('ell')"},
    {"'hello'.matches('^h.*o$') && matches('x1', '[0-9]') && !'abc'.matches('^b')"},
    {"'abc'.matches(object.missing)", "no such key: missing"},
    {"'h\\u00e9llo'.charAt(1) == '\\u00e9' && 'ab'.charAt(2) == ''"},
    {"'ab'.charAt(3) == ''", "index out of range: 3"},
    {"'hello'.indexOf('l') == 2 && 'hello'.indexOf('l', 3) == 3 && 'hello'.indexOf('z') == -1"},
    {"'hello'.lastIndexOf('l') == 3 && 'hello'.lastIndexOf('l', 2) == 2"},
    {"'AbC'.lowerAscii() == 'abc' && 'AbC'.upperAscii() == 'ABC' && '  x '.trim() == 'x'"},
    {"'hello'.replace('l', 'L') == 'heLLo' && 'hello'.replace('l', 'L', 1) == 'heLlo'"},
    {"'ab'.replace('', '-') == '-a-b-' && 'hello'.replace('l', 'L', 0) == 'hello'"},
    {"'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']"},
    {"'abc'.split('') == ['a', 'b', 'c'] && 'a'.split(',', 0) == [] && ''.split(',') == ['']"},
    {"['a', 'b'].join() == 'ab' && ['a', 'b'].join('-') == 'a-b' && [].join(',') == ''"},
    {"'hello'.substring(1) == 'ello' && 'hello'.substring(1, 3) == 'el'"},
    {"'hello'.substring(3, 1) == ''", "invalid substring range. start: 3, end: 1"},
    {"strings.quote('a\"b\\n') == '\"a\\\\\"b\\\\n\"'"},
    {"'%s is %d and %.2f'.format([dyn('x'), 3, 1.5]) == 'x is 3 and 1.50'"},
    {"'%s %s %s'.format([dyn([dyn(1), 'a']), {'k': true}, null]) == '[1, a] {k: true} null'"},
    {"'%x %X %o %b %%'.format([dyn(255), 'hi', 8, 5]) == 'ff 6869 10 101 %'"},
    {"'%e'.format([1234.5]) == '1.234500e+03'"},
    {"'%s'.format([]) == ''", "index 0 out of range"},
    {"'%d'.format([dyn('a')]) == ''",
     "error during formatting: decimal clause can only be used on integers, was given string"},
    {"(true ? '%q' : '').format(['a']) == ''",
     "could not parse formatting clause: unrecognized formatting clause \"q\""},
    {"'a1b22'.find('[0-9]+') == '1' && 'abc'.find('z') == ''"},
    {"'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]+', 1) == ['1']"},
};
INSTANTIATE_TEST_SUITE_P(Texts, Evaluate, ::testing::ValuesIn(kTexts));

constexpr Case kLibraries[] = {
    {"[1, 2].first() == optional.of(1) && [1, 2].last().value() == 2 && !object.names.filter(n, n "
     "== 'z').first().hasValue()"},
    {"optional.unwrap([optional.of(1), optional.none()]) == [1] && [object.?name, "
     "object.?absent].unwrapOpt() == ['web']"},
    {"[1, 2].isSorted() && ![2, 1].isSorted() && [3, 1].min() == 1 && ['b', 'c'].max() == 'c'"},
    {"[1, 2].sum() == 3 && [1.5].sum() == 1.5 && [duration('1s')].sum() == duration('1s')"},
    {"[].sum() == 0 && [1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2"},
    {"object.names.filter(n, n == 'z').min() == ''", "min called on empty list"},
    {"sets.contains([1, 2, 3], [2]) && sets.equivalent([1, 2], [2, 1, 1])"},
    {"sets.intersects([1], [1, 2]) && !sets.intersects([1], [2])"},
    {"url('https://user@ex.com:80/a%20b?x=1&x=2#f').getHost() == 'ex.com:80'"},
    {"url('https://ex.com:80/a b').getEscapedPath() == '/a%20b' && isURL('/a') && !isURL('a')"},
    {"url('https://[::1]:80/').getHostname() == '::1' && url('https://ex.com:80/').getPort() == "
     "'80'"},
    {"url('https://ex.com/?k=a&k=b').getQuery() == {'k': ['a', 'b']}"},
    {"url('https://ex.com').getScheme() == 'https'"},
    {"quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('1') == quantity('1000m')"},
    {"quantity('50k').asInteger() == 50000 && !quantity('50m').isInteger() && isQuantity('1Mi')"},
    {"quantity('50k').add('x' == 'x' ? quantity('1k') : quantity('2k')) == quantity('51k')"},
    {"quantity('10').sub(4).compareTo(quantity('6')) == 0 && quantity('-1').sign() == -1"},
    {"quantity('1500m').asApproximateFloat() == 1.5 && !isQuantity('1.2.3')"},
    {"quantity('50m').asInteger() == 1", "cannot convert value to integer"},
    {"ip('127.0.0.1').family() == 4 && ip('::1').isLoopback() && isIP('10.0.0.1') && !isIP('x')"},
    {"ip.isCanonical('::1') && !ip.isCanonical('0:0::1') && string(ip('fe80::0:1')) == 'fe80::1'"},
    {"ip('10.0.0.1').isGlobalUnicast() && ip('169.254.0.1').isLinkLocalUnicast()"},
    {"ip('224.0.0.1').isLinkLocalMulticast() && ip('0.0.0.0').isUnspecified()"},
    {"!isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0') && !isIP('01.2.3.4')"},
    {"cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))"},
    {"cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && "
     "!cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16')"},
    {"cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('::/64').prefixLength() == 64"},
    {"cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33')"},
    {"format.dns1123Label().validate('ok') == optional.none()"},
    {"format.dns1123Label().validate('Not_ok').hasValue()"},
    {"format.named('uuid').hasValue() && !format.named('zz').hasValue()"},
    {"format.uuid().validate('x').value() == ['does not match the UUID format']"},
    {"semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.2.3').major() == 1"},
    {"semver('1.0.0-alpha.1').isLessThan(semver('1.0.0')) && isSemver('1.2.3') && "
     "!isSemver('1.2')"},
    {"isSemver('v1.2', true) && semver('v01.2', true).compareTo(semver('1.2.0')) == 0"},
    {"semver('1.0.0-rc.2').isGreaterThan(semver('1.0.0-rc.1')) && semver('1.2.3').patch() == 3"},
};
INSTANTIATE_TEST_SUITE_P(Libraries, Evaluate, ::testing::ValuesIn(kLibraries));

TEST(EvaluateLimits, AnExpressionThatCostsTooMuchIsCancelled) {
  std::string list = "[0";
  for (int i = 1; i < 400; ++i) {
    list += "," + std::to_string(i);
  }
  const auto program = Program::compile(list + "].all(x, l.all(y, l.all(z, x + y + z >= 0)))",
                                        {{"l", list_type(simple_type(TypeKind::Int))}});
  ASSERT_TRUE(program.ok()) << program.error().message;
  std::vector<Val> items(400, Val::integer(1));
  constexpr std::uint64_t kLimit = 10'000;
  const Evaluation done = (*program)->evaluate({{"l", Val::list(items)}}, {.cost = kLimit});
  EXPECT_EQ(done.value.text(), "operation cancelled: actual cost limit exceeded");
  EXPECT_GT(done.cost, kLimit);
  EXPECT_LT(done.cost, kLimit + 100);
}

TEST(EvaluateLimits, RefusesChainsThatDouble) {
  std::string chain = "optional.of([0])";
  for (int i = 0; i < 40; ++i) {
    chain += ".optMap(l, l + l)";
  }
  EXPECT_FALSE(Program::compile(chain, {}).ok());  // every optMap doubles what is before it
}

struct Price {
  const char* expression = nullptr;
  std::uint64_t cost = 0;
};

class Cost : public ::testing::TestWithParam<Price> {};

TEST_P(Cost, IsCounted) {
  const auto object = json::parse(R"({"a":{"b":1},"s":"0123456789","l":[1,2,3]})");
  const auto program = Program::compile(GetParam().expression, {{"o", simple_type(TypeKind::Dyn)}});
  ASSERT_TRUE(program.ok()) << program.error().message;
  const Evaluation done = (*program)->evaluate({{"o", adapt(*object)}});
  ASSERT_FALSE(done.value.is_error()) << done.value.text();
  EXPECT_EQ(done.cost, GetParam().cost) << GetParam().expression;
}

constexpr Price kPrices[] = {
    {"true", 0},
    {"o.a.b == 1", 4},
    {"has(o.a.b)", 2},
    {"o.s == '0123456789'", 3},
    {"o.s.startsWith('01')", 3},
    {"o.s.contains('01')", 3},
    {"o.s.matches('^[0-9]+$')", 2 + 2 * 2},
    {"[1, 2]", 10},
    {"{'a': 1}", 30},
    {"o.l.size() == 3", 4},
    {"2 in o.l", 5},
    // each item: condition 1 + 1, accumulator 1, x 1, > 1; then the result
    {"o.l.all(x, x > 0)", 2 + 3 * 5 + 1},
    {"o.l.map(x, x)", 2 + 10 + 3 * (12 + 1) + 1},
    {"true || o.a.b == 1", 0},
    {"o.s.lowerAscii() == ''", 2 + 1 + 0},
    {"o.l.sum() == 6", 2 + 3 + 1},
    {"o.l.reverse()", 2 + 3 + 11},
    {"o.l.slice(0, 2)", 2 + 2 + 11},
    {"lists.range(5)", 5 + 11},
    {"o.l.distinct()", 2 + 2 * 9 + 11},
    {"o.l.sort()", 2 + 2 * 9 + 11},
    {"[o.l].flatten()", 2 + 10 + 1 + 11},
};
INSTANTIATE_TEST_SUITE_P(Prices, Cost, ::testing::ValuesIn(kPrices));

}  // namespace
}  // namespace athanor::cel::evaluate_test
