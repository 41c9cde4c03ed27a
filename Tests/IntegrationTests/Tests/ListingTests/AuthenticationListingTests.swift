import CredentialStores
import Foundation
import Listings
import NetKit
import Peers
import Testing

private typealias Listings4 = CFNetworkGuide.Chapter4

/// Chapter 4: the flow chart by hand, against Apache with Digest; the stores in an encrypted file.
struct AuthenticationListingTests {
    /// Sends a request on a new stream. Returns the stream after its end, and the body.
    private func send(_ request: HTTPRequest) async throws -> (ReadStream, String) {
        let stream = ReadStream(request: request)
        try stream.open()
        let body = try await stream.readAll(limit: 1 << 20)
        return (stream, String(decoding: body, as: UTF8.self))
    }

    private func withApache(_ body: (Apache) async throws -> Void) async throws {
        let apache = Apache(listeners: [.plain])
        try apache.start()
        defer { apache.stop() }
        try apache.write("secret.txt", Array("treasure".utf8))
        try await body(apache)
    }

    @Test func loginFrom1To6() async throws {
        try await withApache { apache in
            let url = try #require(URL(string: apache.url(.plain, "/digest/secret.txt")))
            var login = Listings4.Login(try HTTPRequest(method: .get, url: url))
            #expect(Listings4.listing5(login, login.request) == nil)
            let (asked, _) = try await send(login.request)
            let authentication = try #require(Listings4.listing1(asked))
            #expect(Listings4.listing2(authentication) == .valid)
            var realms: [String?] = []
            // First, a wrong password.
            try await Listings4.listing3(&login, authentication, known: nil) { realm, _ in
                realms.append(realm)
                return ("alice", "wrong", nil)
            }
            let (refused, _) = try await send(login.request)
            #expect(
                try authentication.update(with: try #require(refused[.httpResponse]), to: login.request) == .refused)
            #expect(Listings4.listing2(authentication) == .askAgain)
            // The object is discarded, and a new one made from the new challenge.
            login.known = []
            let fresh = try #require(Listings4.listing1(refused))
            try await Listings4.listing3(&login, fresh, known: nil) { realm, _ in
                realms.append(realm)
                return ("alice", "open sesame", nil)
            }
            #expect(try await send(login.request).1 == "treasure")
            #expect(realms == ["peers", "peers"])

            // The next load from this server finds the credentials without a prompt.
            let next = try HTTPRequest(method: .get, url: url)
            let known = try #require(Listings4.listing5(login, next))
            #expect(known === fresh)
            let credentials = try #require(Listings4.listing6(login, known))
            login.request = next
            try await Listings4.listing3(&login, known, known: credentials) { _, _ in
                Issue.record("the user was prompted")
                return (nil, nil, nil)
            }
            #expect(try await send(login.request).1 == "treasure")
            // A request to another server finds no credentials.
            let other = try HTTPRequest(method: .get, url: try #require(URL(string: "http://127.0.0.1:1/digest/x")))
            #expect(Listings4.listing5(login, other) == nil)
        }
    }

    @Test func neitherObjectNorScheme() async throws {
        try await withApache { apache in
            let url = try #require(URL(string: apache.url(.plain, "/forbidden")))
            let (stream, _) = try await send(try HTTPRequest(method: .get, url: url))
            #expect(Listings4.listing1(stream) == nil)
            #expect(Listings4.listing2(nil) == .giveUp)
        }
    }

    @Test func storesFrom7To10() async throws {
        try await withApache { apache in
            let folder = try TemporaryFolder()
            let key = CredentialFile.Key.bytes(Secret(bytes: [UInt8](repeating: 7, count: 32)))
            let store = CredentialFile(path: folder.file("credentials"), key: key)
            let url = try #require(URL(string: apache.url(.plain, "/basic/secret.txt")))
            var request = try HTTPRequest(method: .get, url: url)
            let authentication = try #require(Listings4.listing1(try await send(request).0))
            #expect(try Listings4.listing7(store, authentication) == nil)
            try Listings4.listing10(store, authentication, user: "alice", password: "old")
            try Listings4.listing9(
                store, try #require(try store.find(CredentialQuery(authentication.space))), password: "open sesame")
            // As another program would do later.
            let later = CredentialFile(path: folder.file("credentials"), key: key)
            let entry = try #require(try Listings4.listing7(later, authentication))
            let credentials = Listings4.listing8(entry)
            #expect(credentials == [.username: "alice", .password: "open sesame"])
            try await authentication.apply(to: &request, credentials: credentials)
            #expect(try await send(request).1 == "treasure")
            #expect(try later.remove(CredentialQuery(authentication.space)) == 1)
        }
    }
}
