import Foundation
import NetKitFoundation
import Peers

/// FTP, with a server in Python.
enum Files {
    static func fetch() async throws -> String {
        let server = PyFTPServer()
        try server.start()
        defer { server.stop() }
        try server.write("notes.txt", Array("bring bread".utf8))
        guard let folder = URL(string: server.url("files/")) else { throw Surprise("no URL") }
        let client = try FTPClient(folder)
        let entries = try await client.list("files")
        let stream = try ReadStream(ftpURL: folder.appending(component: "notes.txt"))
        try stream.open()
        let text = String(decoding: try await stream.readAll(limit: 100), as: UTF8.self)
        return "pyftpdlib lists \(entries.map { "\($0.name), \($0.size ?? 0) bytes" }.joined()), and sends '\(text)'"
    }
}
