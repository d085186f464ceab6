#!/bin/sh
# The random steps of what a screen shows, many of them: screens.sh STEPS JOBS. The two rooms and
# their tests are built optimized, as a package of their own, since a debug build takes an hour.
set -eu
cd "$(dirname "$0")/.."
steps=$1
jobs=$2
place=.build-screens
mkdir -p "$place/Sources" "$place/Tests"
for name in Sources/BaseC Sources/Base Sources/Timeline Sources/Viewport Tests/TimelineTests \
  Tests/ViewportTests; do
  ln -sfn "../../$name" "$place/$name"
done
cat >"$place/Package.swift" <<'END'
// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .strictMemorySafety(), .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "tideline",
  targets: [
    .target(name: "BaseC"),
    .target(name: "Base", dependencies: ["BaseC"], swiftSettings: settings),
    .target(name: "Timeline", dependencies: ["Base"], swiftSettings: settings),
    .target(name: "Viewport", dependencies: ["Base"], swiftSettings: settings),
    .testTarget(name: "TimelineTests", dependencies: ["Timeline", "Base"]),
    .testTarget(name: "ViewportTests", dependencies: ["Viewport", "Base"]),
  ]
)
END
TL_SCREEN_STEPS=$steps env -u CC -u CXX swift test --package-path "$place" -c release \
  -Xswiftc -enable-testing -j "$jobs" \
  --filter 'ViewportTests.PropertyTests|TimelineTests.ItemListTests'
