@_spi(Packages) import FTPStream
import Foundation
import Glibc
@_spi(Packages) import NetKit
import StreamKitFoundation
import Testing

@testable import StreamKit

/// Every public property × every kind of stream × before and after opening: honoured, refused, or kept for the caller.
@Suite("the matrix of properties", .timeLimit(.minutes(5))) struct PropertyMatrixTests {
    static let kinds = StreamKind.ofStreamKit + StreamKind.ofFTPStream + StreamKind.ofHTTPStream

    // MARK: Completeness

    /// The available packages, with the sources of each.
    private static func sources() throws -> [(package: String, text: String)] {
        let packages = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../../..")
            .standardizedFileURL
        return try ["StreamKit", "FTPStream", "HTTPStream"].compactMap { package in
            let folder = packages.appendingPathComponent("\(package)/Sources")
            // A package in its own repository has no neighbours.
            guard let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil) else {
                return nil
            }
            let swift = files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            if swift.isEmpty { return nil }
            let text = try swift.map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
            // A property for another package of ours is not public.
            return (package, text.replacing(/@_spi\(\w+\)\s+public static var/, with: "static var"))
        }
    }

    @Test("every public property of the sources is in the matrix, and is a setting")
    func everyProperty() throws {
        let sources = try Self.sources()
        #expect(sources.contains { $0.package == "HTTPStream" })
        let pattern =
            /public static var (\w+): Self \{\s*\.init\(\s*(setting: )?"((?:StreamKit|FTPStream|HTTPStream)\.[\w.]+)"/
        for (package, text) in sources {
            var found: [String] = []
            for match in text.matches(of: pattern) where match.3 != "StreamKit.logger" || PublicProperty.hasLogger {
                let property = PublicProperty.all.first { $0.name == match.3 }
                #expect(property?.member == String(match.1), "\(match.3) has no row in PublicProperty.all")
                #expect(property?.isNote == (match.2 == nil))
                found.append(String(match.3))
            }
            if package == "FTPStream" { found += optionNames(of: FTPOptions(), "FTPStream", #"ftp(\."#) }
            if package == "HTTPStream" { found += optionNames(of: HTTPOptions(), "HTTPStream", #"http(\."#) }
            let known = PublicProperty.all.map(\.name).filter { $0.hasPrefix("\(package).") }
            #expect(Set(found) == Set(known) && found.count == known.count)
        }
        #expect(!PublicProperty.all.contains { $0.isNote }, "a property of ours that has no effect")
    }

    /// The fields of options that are no options: properties of other packages, a mark, and what only tests replace.
    private static let internalFields: Set = ["connection", "keepsEmptyUserAgent", "turningPoints"]

    /// The names of the properties that the table of options makes of the fields.
    private func optionNames(of options: some Any, _ package: String, _ member: String) -> [String] {
        Mirror(reflecting: options).children.compactMap(\.label).filter { !Self.internalFields.contains($0) }
            // Descriptions of FTPOptions do not show these two.
            .flatMap { $0 == "secrets" ? ["account", "password"] : [$0] }
            .map { label in
                let name = "\(package).\(label)"
                let property = PublicProperty.all.first { $0.name == name }
                #expect(property?.member == "\(member)\(label))", "\(name) has no row in PublicProperty.all")
                #expect(
                    Self.kinds.contains { $0.properties.honours(name) }, "the field \(label) has no row in its table")
                return name
            }
    }

    @Test("every kind of the sources is in the matrix, once")
    func everyKind() throws {
        let names = Self.kinds.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(Set(KindFixture.all.map(\.kind.name)) == Set(names) && KindFixture.all.count == names.count)
        for (package, text) in try Self.sources() {
            for match in text.matches(of: /= StreamKind\(\s*"([^"]+)"/) where match.1 != "a mailbox" {
                #expect(names.contains(String(match.1)), "\(package): the kind \(match.1) is in no list")
            }
        }
    }

    @Test("every row of a table names an existing property", arguments: PropertyMatrixTests.kinds.map(\.name))
    func everyRow(_ name: String) throws {
        let kind = try #require(Self.kinds.first { $0.name == name })
        let known = Set(PublicProperty.all.map(\.name))
        let own: Set = [
            "HTTPStream.proxyLogins", "HTTPStream.proxyBinding", "HTTPStream.tunnelVerdict",
            "HTTPStream.needsIdleConnection", "HTTPStream.keepsEmptyUserAgent",
        ]
        for row in kind.properties.names {
            #expect(known.union(own).contains(row))
            let property = PublicProperty.all.first { $0.name == row }
            // A socket returns its local address, which only a connecting socket can choose.
            if property?.isReadOnly == true { #expect(kind.properties.role(of: row) == .telling) }
        }
    }

    // Parity: FT-044
    @Test(
        "every property that a kind honours has an effect that a test observes",
        arguments: PropertyMatrixTests.kinds.map(\.name))
    func everyEffect(_ name: String) throws {
        let kind = try #require(Self.kinds.first { $0.name == name })
        for property in PublicProperty.all where kind.properties.honours(property.name) {
            let effects = PropertyEffect.all.filter { $0.property == property.member && $0.kinds.contains(name) }
            #expect(effects.count == 1, "\(property.member) of \(name)")
        }
        for effect in PropertyEffect.all where effect.kinds.contains(name) {
            let property = PublicProperty.all.first { $0.member == effect.property }
            #expect(kind.properties.honours(try #require(property).name), "\(effect.property) of \(name)")
        }
    }

    // MARK: The cells

    // Parity: SK-055, HM-097
    @Test(
        "before opening, a property is honoured, refused with its name and the kind's, or kept",
        arguments: KindFixture.all)
    func before(_ fixture: KindFixture) throws {
        for property in PublicProperty.all { try check(property, try fixture.make(), fixture.kind, isOpen: false) }
    }

    // Parity: SK-055, HM-097
    @Test("the same holds after opening, when only some may be set", arguments: KindFixture.all)
    func after(_ fixture: KindFixture) throws {
        let made = try fixture.make()
        if made.subject.isClient { return }  // it is never opened
        try made.subject.open()
        for property in PublicProperty.all { try check(property, made, fixture.kind, isOpen: true) }
    }

    private func check(_ property: PublicProperty, _ made: Fixture, _ kind: StreamKind, isOpen: Bool) throws {
        let cell = Comment(rawValue: "\(property.member) of \(kind.name)")
        let isHonoured = kind.properties.honours(property.name)
        var failure: StreamError?
        let wasSet = property.isSet(made.subject)
        do throws(StreamError) { try property.set(made.subject) } catch { failure = error }
        if property.isReadOnly {
            #expect(failure?.description.contains(property.name) == true, cell)
        } else if !property.isNote, !isHonoured {
            #expect(failure?.isPOSIX(EINVAL) == true, cell)
            #expect(failure?.description.contains(property.name) == true, cell)
            #expect(failure?.description.contains(kind.name) == true, cell)
            #expect(property.isSet(made.subject) == wasSet, cell)
        } else if isOpen, !property.isAlways {
            #expect(failure?.description.contains(property.name) == true, cell)
        } else {
            #expect(failure == nil, cell)
            #expect(property.isSet(made.subject) || made.subject.isClient, cell)
        }
    }

    @Test(
        "the URL of an HTTP request decides about TLS; Foundation's streams refuse TLS that would not take place",
        arguments: [
            ("http://127.0.0.1:9/", false), ("https://127.0.0.1:9/", true), ("HTTPS://127.0.0.1:9/", true),
            ("ftp://127.0.0.1:9/", false),
        ])
    func tlsByURL(_ url: String, _ isSecure: Bool) async throws {
        let stream = try ReadStream(httpURL: try #require(URL(string: url)))
        #expect(stream[.urlDemandsTLS] == isSecure)
        let bridged = BridgedInputStream(stream)
        #expect(bridged.setProperty([String: Any](), forKey: .sslSettingsKey) == isSecure)
        #expect(bridged.setProperty(TLSConfiguration(), forKey: .sslContextKey) == isSecure)
        #expect((stream[.tls] != nil) == isSecure)
        #expect(bridged.setProperty(nil, forKey: .sslSettingsKey), "no TLS is no contradiction")
        #expect(StreamPair(host: "127.0.0.1", port: 9).input[.urlDemandsTLS] == nil)
        // An unusable property is refused when the stream is opened, since redirects may be enabled later.
        for followsRedirects in [false, true] {
            let stream = try ReadStream(httpURL: try #require(URL(string: url)))
            try stream.set(.tls, to: TLSConfiguration())
            try stream.set(.http(\.followsRedirects), to: followsRedirects)
            try? stream.open()
            let error = try #require(await Subject.reader(stream).failureOfOpening())
            let isRefused =
                error.isPOSIX(EINVAL) && ["StreamKit.tls", "an HTTP request"].allSatisfy(error.description.contains)
            #expect(isRefused == (!isSecure && !followsRedirects), "\(error)")
        }
    }

    @Test(
        "properties passed to an initializer are checked like those that are set",
        arguments: ["host", "address", "found"])
    func handedOver(_ which: String) throws {
        let peer = try SilentPeer()
        func make(_ properties: StreamProperties) -> StreamPair {
            switch which {
            case "host": StreamPair(host: "127.0.0.1", port: peer.port, properties: properties)
            case "address": StreamPair(address: .ip(.v4(.loopback), port: peer.port), properties: properties)
            default: StreamPair(finder: KnownPlace(port: peer.port), properties: properties)
            }
        }
        for property in PublicProperty.all where !property.isReadOnly {
            var properties = StreamProperties()
            property.handOver(&properties)
            let pair = make(properties)
            defer { pair.close() }
            if property.isNote || pair.input.kind.properties.honours(property.name) {
                #expect(property.isSet(.pair(pair)), "\(property.member)")
                try pair.open()
            } else {
                let error = #expect(throws: StreamError.self) { try pair.open() }
                #expect(error?.description.contains(property.name) == true)
                #expect(error?.description.contains(pair.input.kind.name) == true)
            }
        }
    }

    @Test("an honoured property has its effect", arguments: PropertyEffect.cells)
    func effect(_ cell: PropertyEffect.Cell) async throws {
        let effect = try #require(
            PropertyEffect.all.first { $0.property == cell.property && $0.kinds.contains(cell.kind) })
        #expect(try await effect.observe(cell.kind), "\(cell.property) of \(cell.kind)")
    }

    // MARK: The page

    /// Writes the page with NETKIT_WRITE_PAGES=1; compares it otherwise.
    @Test("the page of the documentation is this table")
    func page() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Sources/NetKit/NetKit.docc/HonouredProperties.md").standardizedFileURL
        let text = PropertyPage.text(Self.kinds)
        if ProcessInfo.processInfo.environment["NETKIT_WRITE_PAGES"] == "1" {
            try text.write(to: page, atomically: true, encoding: .utf8)
        }
        #expect(
            try String(contentsOf: page, encoding: .utf8) == text,
            "run this test with NETKIT_WRITE_PAGES=1 and check the difference in")
    }
}

/// The page "Which stream honours which property", made from the streams' own tables.
enum PropertyPage {
    static func text(_ kinds: [StreamKind]) -> String {
        let members = Dictionary(uniqueKeysWithValues: PublicProperty.all.map { ($0.name, $0) })
        var page = """
            # Which stream honours which property

            Setting a property that a stream does not honour throws an error that names both.

            ## Overview

            This page is generated from the tables of the streams (`StreamKind`), and a test compares it with them. The test also sets
            every property on every kind of stream, before and after opening, and observes the effect of each honoured one.

            - A property in the second column can be set until the stream is opened, one in the third until it is closed.
            - A property in the last column can be read, but not set.
            - On an HTTP request, `tls` configures TLS, and the URL enables it (`urlDemandsTLS`). For an `http` URL, `tls` applies to
              redirects to `https`; if redirects are not followed, opening throws. Foundation's streams over an `http` URL refuse `tls`.
            - A property in *italics* distinguishes connections: streams with different values share no connection.
            - Your own keys, made with `StreamProperty(_:access:default:)`, are stored and returned by every stream and have no
              effect.
            - Properties that are passed to a stream's initializer follow the same rule: opening the stream throws.
            - A custom transport may have further properties; see `StreamTransport.setProperty(_:named:)`.
            - With the trait `Logging`, every stream that connects honours `logger`.

            | Stream | Set until opened | Set until closed | Returned |
            |---|---|---|---|

            """
        for kind in kinds {
            // `logger` has its own line above: the page is the same with and without the trait.
            let rows = kind.properties.names.compactMap { members[$0] }.filter { $0.member != "logger" }
            let settable = rows.filter { kind.properties.honours($0.name) }
            let returned = rows.filter { !kind.properties.honours($0.name) }
            func cell(_ properties: [PublicProperty]) -> String {
                properties.sorted { $0.member < $1.member }.map { property in
                    let isShape = kind.properties.role(of: property.name) == .connecting
                    return isShape ? "*\(property.member)*" : "`\(property.member)`"
                }.joined(separator: ", ")
            }
            page += "| \(kind.name) | \(cell(settable.filter { !$0.isAlways })) | \(cell(settable.filter(\.isAlways))) "
            page += "| \(cell(returned)) |\n"
        }
        return page
    }
}
