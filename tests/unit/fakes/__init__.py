"""Tests of the scripted DynamoDB fake, without sockets."""
