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
    name: "FTPStream",
    products: [
        .library(name: "FTPListing", targets: ["FTPListing"])
    ],
    targets: [
        .target(name: "FTPListing", swiftSettings: settings),
        .testTarget(name: "FTPListingTests", dependencies: ["FTPListing"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
