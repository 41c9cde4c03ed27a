// swift-tools-version: 6.2.3
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

// A small server, as an example and for load tests with curl and wrk: swift run -c release serve --help
let package = Package(
    name: "ExampleServer",
    dependencies: [
        .package(path: "../../Packages/EventLoops"),
        .package(path: "../../Packages/HTTPMessage"),
        .package(path: "../../Packages/NetKit"),
        .package(path: "../../Packages/StreamKit"),
    ],
    targets: [
        .executableTarget(
            name: "serve",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings)
    ],
    swiftLanguageModes: [.v6]
)
