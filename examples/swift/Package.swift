// swift-tools-version: 6.2
import PackageDescription

/// Tideline from Swift: a module over the C header, and a program that uses it. TIDELINE_FOLDER
/// names the folder of the built library, else it is that of this repository.
let root = "\(Context.packageDirectory)/../.."
let folder = Context.environment["TIDELINE_FOLDER"] ?? "\(root)/out/lib"

let package = Package(
  name: "tideline-swift",
  targets: [
    .systemLibrary(name: "CTideline"),
    .target(name: "Tideline", dependencies: ["CTideline"]),
    .executableTarget(
      name: "Sample", dependencies: ["Tideline"],
      linkerSettings: [.unsafeFlags(["-L\(folder)", "-Xlinker", "-rpath", "-Xlinker", folder])]),
  ],
  swiftLanguageModes: [.v6]
)
