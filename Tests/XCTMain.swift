/// Starts the tests. With this file SwiftPM looks for no classes of XCTest, for which it would
/// index every module.
import Testing

@main
struct Program {
  static func main() async {
    // `swift test` starts the program once for each testing library; there are no tests of XCTest.
    let arguments = CommandLine.arguments
    guard let at = arguments.firstIndex(of: "--testing-library"),
      arguments.dropFirst(at + 1).first == "swift-testing"
    else { return }
    await Testing.__swiftPMEntryPoint() as Never
  }
}
