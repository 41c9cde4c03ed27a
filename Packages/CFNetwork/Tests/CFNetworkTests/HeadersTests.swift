import Foundation
import Testing

/// The public headers as C and C++ compilers see them.
struct HeadersTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources").standardizedFileURL
    /// The folders with headers, and the names of the folders in them.
    private static let includes = [
        "CFNetworkC": "CFNetwork", "SystemConfigurationC": "SystemConfiguration", "SecurityC": "Security",
    ]
    private static let compilers: [(name: String, standards: [String])] = [
        ("clang", ["c11", "gnu17", "c23"]), ("gcc", ["c11", "gnu17", "c2x"]),
        ("clang++", ["c++11", "c++17", "c++20"]), ("g++", ["c++11", "c++17", "c++20"]),
    ]

    /// Each header alone, and all of them through `CoreServices.h`, before and after CoreFoundation's, and before and after those of
    /// dispatch queues.
    @Test(arguments: compilers.indices)
    func headersCompileAlone(_ index: Int) throws {
        let (name, standards) = Self.compilers[index]
        let names = try Self.includes.flatMap { target, folder in
            let path = "\(Self.sources.path)/\(target)/include/\(folder)"
            return try FileManager.default.contentsOfDirectory(atPath: path).map { "\(folder)/\($0)" }
        }.sorted()
        #expect(Set(Self.includes.values.map { "\($0)/\($0).h" }).isSubset(of: names))
        let first = ["-D__COREFOUNDATION_FORSWIFTFOUNDATIONONLY__=1", "-D__LITTLE_ENDIAN__=1"]
        let empty = ["-D_Nullable=", "-D_Nonnull=", "-D_Null_unspecified=", "-D_Nullable_result="]
        for standard in standards {
            for header in names {
                try expectToCompile("#include <\(header)>\n", name, standard)
            }
            try expectToCompile("#include <CoreServices/CoreServices.h>\n", name, standard)
            let reversed = "#include <CoreFoundation/CoreFoundation.h>\n#include <CFNetwork/CFNetwork.h>\n"
            try expectToCompile(reversed, name, standard, first + (name.hasPrefix("g") ? empty : []))
            // g++ comments on attributes in the header of dispatch queues, and gcc cannot read it alone.
            if name == "g++" { continue }
            let headers = ["<SystemConfiguration/SystemConfiguration.h>", "<dispatch/dispatch.h>"]
            for order in name == "gcc" ? [headers] : [headers, headers.reversed()] {
                try expectToCompile(order.map { "#include \($0)\n" }.joined(), name, standard)
            }
        }
    }

    private func expectToCompile(
        _ source: String, _ compiler: String, _ standard: String, _ options: [String] = []
    ) throws {
        let isC = !compiler.hasSuffix("++")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [compiler, "-x", isC ? "c" : "c++", "-std=\(standard)", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
            + Self.includes.keys.flatMap { ["-I", "\(Self.sources.path)/\($0)/include"] }
            + ["-isystem", try Self.toolchain() + "/lib/swift"] + options + ["-"]
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardError = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(source.utf8))
        try input.fileHandleForWriting.close()
        let messages = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(compiler) \(standard): \(source)\(messages)")
    }

    /// The toolchain's folder `usr`, found through `swiftc`.
    private static func toolchain() throws -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let compiler = try #require(
            folders.map { "\($0)/swiftc" }.first { FileManager.default.isExecutableFile(atPath: $0) })
        return URL(filePath: compiler).resolvingSymlinksInPath().deletingLastPathComponent().deletingLastPathComponent()
            .path
    }
}
