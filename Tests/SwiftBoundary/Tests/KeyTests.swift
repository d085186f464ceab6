/// Keys: a printed code opens the file, and the key that was removed does not.
import CTidelineShared
import Testing
import Tideline

@Suite struct KeyTests {
  /// Gives the error of a call that has to fail.
  private func error(_ call: () throws -> Void) throws -> TidelineError {
    try #require(throws: TidelineError.self) { try call() }
  }

  @Test func aPrintedCodeOpensTheFile() throws {
    try withFile { path in
      var options = Client.Options(path: path, key: key)
      let code = try recoveryCode()
      var client: Client? = try caughtUp([message(1)], options)
      #expect(try client?.put(key: code, kind: Int(TL_KEY_CODE), label: "printed") == 1)
      try client?.removeKey(0)
      let other = try recoveryCode()
      try client?.put(key: other, kind: Int(TL_KEY_CODE), label: "new", replacing: 1)
      #expect(try client?.keys() == [KeySlot(slot: 1, kind: 2, label: "new")])
      #expect(try keys(of: path) == client?.keys())
      client = nil
      let missing = try error { _ = try Client(options) }
      #expect(missing.status == Status(TL_E_NO_SLOT))
      options.keyKind = Int(TL_KEY_CODE)
      options.key = Array(code.utf8)
      #expect(try error { _ = try Client(options) }.status == Status(TL_E_KEY))
      options.key = Array(other.dropLast().utf8)
      #expect(try error { _ = try Client(options) }.status == Status(TL_E_CODE))
      options.key = Array(other.lowercased().utf8)
      #expect(try Client(options).messages("c").map(\.id) == ["m1"])
    }
  }
}
