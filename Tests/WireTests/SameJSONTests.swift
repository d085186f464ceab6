/// Two prints of one JSON value are the same, and of two values are not.
import Testing
import Wire

@Suite struct SameJSONTests {
  @Test(arguments: [
    (#"{"a":1,"b":[true,null]}"#, #" { "b" : [ true , null ] , "a" : 1 } "#),
    (#""a/é""#, #""\u0061\/\u00e9""#), ("1", "1.0"), ("1e2", "100"), ("-0.0", "0"),
    ("1.50E3", "15e+2"),
    ("0.001", "1e-3"), ("12e000000001", "120"), (#"{"a":1,"a":2}"#, #"{"a":2}"#), ("[]", "[ ]"),
    ("{}", "{ }"), ("no JSON", "no JSON"), ("", ""),
  ])
  func same(_ one: String, _ other: String) {
    #expect(isSameJSON(Array(one.utf8), Array(other.utf8)))
    #expect(isSameJSON(Array(other.utf8), Array(one.utf8)))
  }

  @Test(arguments: [
    ("1", "\"1\""), ("1", "10"), ("1", "-1"), ("0.1", "0.01"), ("12", "1.2"), ("[1,2]", "[2,1]"),
    ("[1]", "[[1]]"),
    ("[12]", "[1,2]"), ("[]", "{}"), ("{}", "null"), (#"{"a":1}"#, #"{"b":1}"#),
    (#"{"a":1}"#, #"{"a":1,"b":null}"#), (#"["a,b"]"#, #"["a","b"]"#), ("\"a\"", "\"A\""),
    ("true", "false"),
    ("no JSON", "no  JSON"), ("1e1000000000", "1e1000000001"), ("[", "[ "), ("\"\"", ""),
  ])
  func another(_ one: String, _ other: String) {
    #expect(!isSameJSON(Array(one.utf8), Array(other.utf8)))
    #expect(!isSameJSON(Array(other.utf8), Array(one.utf8)))
  }
}
