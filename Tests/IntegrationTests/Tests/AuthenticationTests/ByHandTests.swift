import Foundation
import HTTPAuth
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// HTTPAuth with plain streams, as with any other HTTP client: the program sets the header field itself.
@Suite(.serialized) struct ByHandTests {
    // Parity: HM-068 (Apache, lighttpd)
    @Test(arguments: Servers.names)
    func aRightPasswordIsAcceptedAndAWrongOneIsRefused(_ name: String) async throws {
        var request = try HTTPRequest(method: .get, url: Servers.url(name))
        let asked = try await send(request)
        #expect(asked.response.status == .unauthorized)
        let authentication = try #require(HTTPAuthentication(response: asked.response))
        #expect(authentication.isValid && authentication.realm == "peers" && authentication.appliesTo(request))
        #expect(authentication.method == (name.hasSuffix("basic") ? .basic : .digest))

        try await authentication.apply(to: &request, user: "alice", password: "open sesame")
        let answer = try await send(request)
        #expect(answer.text == "treasure")
        #expect(try authentication.update(with: answer.response, to: request) == .accepted)

        try await authentication.apply(to: &request, user: "alice", password: "wrong")
        // Credentials that were accepted before may only have a stale nonce, which is checked once.
        var verdict = try authentication.update(with: try await send(request).response, to: request)
        if verdict == .apply {
            try await authentication.apply(to: &request, user: "alice", password: "wrong")
            verdict = try authentication.update(with: try await send(request).response, to: request)
        }
        #expect(verdict == .refused && authentication.error?.number == .badUserName)
    }

    // Parity: HA-035, HA-037 (lighttpd)
    @Test(arguments: Servers.names.filter { $0.hasPrefix("lighttpd") })
    func namesAndPasswordsBeyondASCII(_ name: String) async throws {
        var request = try HTTPRequest(method: .get, url: Servers.url(name))
        let authentication = try #require(HTTPAuthentication(response: try await send(request).response))
        try await authentication.apply(to: &request, user: "Jäsøn", password: "sésame")
        #expect(try await send(request).text == "treasure")
    }

    /// What each scheme of a real challenge requires, and credentials by dictionary keys.
    // Parity: HA-007, HA-012, HA-023 (Apache, lighttpd)
    @Test(arguments: Servers.names)
    func requirementsAndDictionaries(_ name: String) async throws {
        var request = try HTTPRequest(method: .get, url: Servers.url(name))
        let challenge = try await send(request).response
        let authentication = try #require(HTTPAuthentication(response: challenge))
        #expect(authentication.requiresUserNameAndPassword && !authentication.requiresAccountDomain)
        #expect(authentication.requiresOrderedRequests == (authentication.method != .basic))
        try await authentication.apply(to: &request, credentials: [.username: "alice", .password: "open sesame"])
        #expect(try await send(request).text == "treasure")
        for missing in [HTTPAuthentication.CredentialKey.username, .password] {
            let other = try #require(HTTPAuthentication(response: challenge))
            var credentials: [HTTPAuthentication.CredentialKey: String] = [.username: "", .password: ""]
            credentials[missing] = nil
            await #expect(throws: HTTPAuthError.self) { try await other.apply(to: &request, credentials: credentials) }
            #expect(!other.isValid)
        }
    }

    /// One call without state: Basic needs no challenge, and the strongest offered scheme answers one.
    // Parity: HA-025 (Apache, lighttpd)
    @Test(arguments: Servers.names)
    func theSingleCall(_ name: String) async throws {
        var request = try HTTPRequest(method: .get, url: Servers.url(name))
        let challenge = try await send(request).response
        try request.addAuthentication(answering: challenge, user: "alice", password: "open sesame")
        #expect(try await send(request).text == "treasure")
        try request.addAuthentication(answering: challenge, user: "alice", password: "wrong")
        #expect(try await send(request).response.status == .unauthorized)
        guard name.hasSuffix("basic") else { return }
        try request.addAuthentication(answering: nil, user: "alice", password: "open sesame")
        #expect(try await send(request).text == "treasure")
    }

    /// An object for each user of one server, used in turn: each keeps its own credentials and nonce.
    // Parity: HA-002 (lighttpd)
    @Test(arguments: Servers.names.filter { $0.hasPrefix("lighttpd") })
    func twoUsersOfOneServer(_ name: String) async throws {
        let request = try HTTPRequest(method: .get, url: Servers.url(name))
        var users: [(HTTPAuthentication, user: String, password: String)] = []
        for (user, password) in [("alice", "open sesame"), ("Jäsøn", "sésame")] {
            users.append(
                (try #require(HTTPAuthentication(response: try await send(request).response)), user, password))
        }
        for _ in 0..<3 {
            for (object, user, password) in users {
                var own = request
                try await object.apply(to: &own, user: user, password: password)
                let answer = try await send(own)
                #expect(answer.text == "treasure")
                #expect(try object.update(with: answer.response, to: own) == .accepted)
            }
        }
    }

    /// One nonce for many requests, with Apache's proof for each.
    // Parity: HA-002 (Apache, lighttpd)
    @Test(arguments: ["apache digest", "lighttpd sha512"])
    func oneNonceServesManyRequests(_ name: String) async throws {
        var request = try HTTPRequest(method: .get, url: Servers.url(name))
        var options = DigestOptions()
        options.requiresServerProof = name.hasPrefix("apache")
        var policy = AuthenticationPolicy()
        policy.methods = [.digest(options)]
        let first = try await send(request).response
        let authentication = try #require(HTTPAuthentication(response: first, policy: policy))
        for _ in 0..<25 {
            try await authentication.apply(to: &request, user: "alice", password: "open sesame")
            let answer = try await send(request)
            #expect(answer.text == "treasure")
            #expect(try authentication.update(with: answer.response, to: request) == .accepted)
        }
        #expect(request.fields[.authorization]?.contains("nc=00000019") == true)
    }

    /// Apache announces the next nonce before the current one expires. An expired nonce is replaced without asking the user.
    // Parity: HA-038 (Apache)
    @Test(.timeLimit(.minutes(5))) func noncesAreRenewed() async throws {
        let apache = Apache(listeners: [.plain], nonceLifetime: 2)
        try apache.start()
        defer { apache.stop() }
        try apache.write("secret.txt", Array("treasure".utf8))
        let url = try #require(URL(string: apache.url(.plain, "/digest/secret.txt")))
        var request = try HTTPRequest(method: .get, url: url)
        let challenge = try await send(request).response
        let following = try #require(HTTPAuthentication(response: challenge))
        for _ in 0..<3 {
            try await following.apply(to: &request, user: "alice", password: "open sesame")
            #expect(request.fields[.authorization]?.contains("nc=00000001") == true, "a new nonce each time")
            let answer = try await send(request)
            #expect(answer.text == "treasure")
            #expect(answer.response.fields[.authenticationInfo]?.contains("nextnonce=") == true)
            #expect(try following.update(with: answer.response, to: request) == .accepted)
        }
        // An object that ignores the announcements uses the first nonce until the server calls it stale.
        let ignoring = try #require(HTTPAuthentication(response: challenge))
        var answer: Answer
        repeat {
            try await ignoring.apply(to: &request, user: "alice", password: "open sesame")
            answer = try await send(request)
        } while answer.response.status == .ok
        #expect(answer.response.fields[.wwwAuthenticate]?.contains("stale=true") == true)
        #expect(try ignoring.update(with: answer.response, to: request) == .apply)
        try await ignoring.apply(to: &request, user: "alice", password: "open sesame")
        #expect(try await send(request).text == "treasure")
    }

    /// A proof that was changed in transit is rejected.
    @Test func aChangedProofIsRejected() async throws {
        var request = try HTTPRequest(method: .get, url: Servers.url("apache digest"))
        let authentication = try #require(HTTPAuthentication(response: try await send(request).response))
        try await authentication.apply(to: &request, user: "alice", password: "open sesame")
        var answer = try await send(request).response
        let info = try #require(answer.fields[.authenticationInfo])
        #expect(info.contains("rspauth"))
        try answer.fields.set(info.replacing("rspauth=\"", with: "rspauth=\"0"), for: .authenticationInfo)
        #expect(throws: HTTPAuthError.self) { try authentication.update(with: answer, to: request) }
    }
}
