// Requests, responses and their parts stand in this module's API: who imports it has them, too.
@_exported public import HTTPMessage
