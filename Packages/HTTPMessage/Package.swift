// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

let package = Package(
    name: "HTTPMessage",
    products: [
        .library(name: "HTTPMessage", targets: ["HTTPMessage"])
    ],
    targets: [
        .target(name: "HTTPMessage", swiftSettings: settings),
        .testTarget(name: "HTTPMessageTests", dependencies: ["HTTPMessage"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
