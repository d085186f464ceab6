// swift-tools-version: 6.2
import PackageDescription

/// A Swift program beside the shared library: it sees the header and the built library alone. The
/// library brings a Swift runtime of its own, hidden; this program uses that of the toolchain.
let root = "\(Context.packageDirectory)/../.."
let folder = Context.environment["TIDELINE_FOLDER"] ?? "\(root)/out/lib"

let package = Package(
  name: "SwiftBoundary",
  targets: [
    .systemLibrary(name: "CTidelineShared", path: "CTidelineShared"),
    .target(name: "Tideline", dependencies: ["CTidelineShared"], path: "Tideline"),
    .testTarget(
      name: "SwiftBoundaryTests", dependencies: ["CTidelineShared", "Tideline"], path: "Tests",
      linkerSettings: [
        // A function is bound at its first call, which Scripts/swift_boundary.py looks at.
        .unsafeFlags([
          "-L\(folder)", "-Xlinker", "-rpath", "-Xlinker", folder, "-Xlinker", "-z",
          "-Xlinker", "lazy",
        ])
      ]),
  ],
  swiftLanguageModes: [.v6]
)
