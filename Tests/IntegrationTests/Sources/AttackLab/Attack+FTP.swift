internal import Foundation
@_spi(Packages) internal import NetKit

/// FTP servers that attack the client that logs in.
extension Attack {
    /// Attacks by FTP servers.
    public static let ftp: [Attack] = [
        Attack(
            "ftp-preliminary-greetings", "`120 wait` without an end, instead of a greeting", ending: .failure,
            on: .client(fetch)),
        Attack(
            "ftp-preliminary-replies", "`150 wait` without an end, instead of a file", ending: .failure,
            on: .client(fetch)),
        Attack(
            "ftp-preliminary-drip", "`150 wait` at 50 bytes a second, so that no single reply is late",
            ending: .failure,
            on: .client(fetch)),
        Attack(
            "ftp-reply", "a reply of ever more lines", origin: "CVE-2018-1000300", ending: .failure, on: .client(fetch)),
        Attack("ftp-reply-line", "a reply without a line end", ending: .failure, on: .client(fetch)),
        Attack("ftp-file", "a file without an end, at full speed", on: .client(fetch)),
        Attack("ftp-listing", "a listing without an end", result: FTPClient.maximumListMemory, on: .client(list)),
        Attack(
            "ftp-listing-names", "a listing of names of 16,000 bytes", result: FTPClient.maximumListMemory,
            on: .client(list)),
        Attack(
            "ftp-listing-entries", "a listing without an end, read entry by entry", mode: "ftp-listing",
            on: .client { scene in
                try await scene.limited { for try await _ in try client(scene).entries() {} }
            }),
        Attack("ftp-listing-line", "a listing without a line end", on: .client(list)),
        Attack(
            "ftp-tree", "directories of ever more directories",
            on: .client { scene in
                try await scene.limited {
                    _ = try await client(scene).download("", to: "\(scene.folder)/tree")
                }
            }),
        Attack(
            "ftp-tree-refusals", "a tree of files, each refused with a reply of 1000 lines and 9 KB",
            result: FTPTreeReport.maximumSkipped * (FTPTreeReport.maximumPathLength + FTPTreeReport.maximumReplyLength),
            on: .client { scene in
                try await scene.limited {
                    _ = try await client(scene).download("", to: "\(scene.folder)/refused")
                }
            }),
        Attack(
            "ftp-slow-disk", "a tree of 12 files, to a disk that takes 100 ms for each write", hasSlowDisk: true,
            on: .client { scene in
                try await scene.limited {
                    _ = try await client(scene).download("", to: "\(scene.folder)/slow")
                }
            }),
        Attack(
            "ftp-foreign-passive", "a data connection to an address of the server's choice",
            origin: "CVE-2020-8284, CVE-2026-8328", on: .client(fetch)),
        Attack(
            "ftp-plain-after-auth", "no TLS, although the client must have it", origin: "CVE-2021-22946",
            mode: "ftp-plain",
            ending: .failure, on: .client { try await fetch($0, scheme: "ftps") }),
        Attack(
            "ftp-plain-with-tls-property", "no TLS, although `.tls` was set on an `ftp:` stream", mode: "ftp-plain",
            ending: .failure,
            on: .client { scene in
                try await fetch(scene, scheme: "ftp") { try $0.set(.tls, to: TLSConfiguration()) }
            }),
        Attack(
            "ftp-tls-injection", "plaintext replies after the reply to AUTH TLS", origin: "CVE-2021-22947",
            ending: .failure,
            on: .client { try await fetch($0, scheme: "ftps") }),
    ]

    private static func client(_ scene: AttackScene) throws -> FTPClient {
        guard let url = URL(string: "ftp://ann:secret@127.0.0.1:\(scene.port)/") else { throw StreamError.closed }
        let client = try FTPClient(url)
        try client.set(.ftp(\.replyTimeout), to: AttackScene.limit)
        try client.set(.readTimeout, to: AttackScene.limit)
        return client
    }

    @Sendable private static func fetch(_ scene: AttackScene) async throws {
        try await fetch(scene, scheme: "ftp")
    }

    private static func fetch(
        _ scene: AttackScene, scheme: String, _ prepare: @escaping @Sendable (ReadStream) throws -> Void = { _ in }
    ) async throws {
        guard let url = URL(string: "\(scheme)://ann:secret@127.0.0.1:\(scene.port)/file") else { return }
        try await scene.limited {
            let stream = try ReadStream(ftpURL: url)
            try stream.set(.ftp(\.replyTimeout), to: AttackScene.limit)
            try stream.set(.readTimeout, to: AttackScene.limit)
            try stream.set(.ftp(\.pool), to: FTPSessionPool())
            try prepare(stream)
            try stream.open()
            try await scene.drain(stream)
        }
    }

    @Sendable private static func list(_ scene: AttackScene) async throws {
        try await scene.limited { _ = try await client(scene).list() }
    }
}
