// swift-tools-version: 6.2.3
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
    traits: [
        .trait(name: "HTTPTypes", description: "Conversions to and from the types of apple/swift-http-types.")
    ],
    dependencies: [
        // Neither fetched nor built without the trait.
        .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0")
    ],
    targets: [
        .target(
            name: "HTTPMessage",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["HTTPTypes"]))
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPMessageTests",
            dependencies: ["HTTPMessage"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
